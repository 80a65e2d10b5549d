// Operands whose elements are not what an op counts on: lengths and indices that are negative or
// far too large, numbers that are none. Under the sanitizers: an op computes something or raises an
// Error, and touches no memory that is not its own.
#include <gtest/gtest.h>

#include <set>

#include "rlx/conformance/case_data.h"
#include "rlx/conformance/runner.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/ops_recurrent.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

// One row of every op.
std::vector<OpCase> one_of_each() {
  const std::set<std::string> repeats{"loop", "while_loop"};  // as often as they are told: for ever
  constexpr int kOfEach = 1;
  std::map<std::string, int> taken;
  std::vector<OpCase> rows;
  for (OpCase& row : op_cases())
    if (!repeats.count(row.op) && taken[row.op]++ < kOfEach) rows.push_back(std::move(row));
  return rows;
}

int64_t elements_of(const OpCase& row) {
  int64_t most = 0;
  for (const auto& tensor : case_data(row))
    if (tensor) most = std::max(most, tensor->count());
  return most;
}

void set_all(Tensor& tensor, double real, int64_t integer) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    is_float(tensor.dtype()) || tensor.dtype() == DType::c64 ? tensor.set(i, real)
                                                             : tensor.set_integer(i, integer);
}

struct Extreme {
  double real;
  int64_t integer;
};
constexpr Extreme kExtremes[] = {
    {kNaN, -1}, {kInf, INT64_MIN}, {-kInf, INT64_MAX}, {1e30, int64_t{1} << 40}, {-1e30, -1000}};

TEST(HostileValues, AreComputedWithOrRefusedOnTheCpu) {
  const OpSet ops = catalog();
  int refused = 0;
  for (const OpCase& row : one_of_each()) {
    constexpr int64_t kSmall = 512;  // the sanitizers take their time
    if (elements_of(row) > kSmall) continue;
    const CaseGraph built = case_graph(row, ops);
    const Program program = compile(built.graph);
    for (const auto& [name, tensor] : built.inputs)
      for (const Extreme& extreme : kExtremes) {
        SCOPED_TRACE(
            text(describe(row), ": ", name, " of ", extreme.real, " or ", extreme.integer));
        TensorMap inputs = built.inputs;
        inputs[name] = tensor.copy();
        set_all(inputs[name], extreme.real, extreme.integer);
        const std::string said = error_of([&] { evaluate(built.graph, inputs); });
        const std::string also = error_of([&] { program.run(inputs); });
        EXPECT_EQ(said.empty(), also.empty()) << said << "\n" << also;
        refused += said.empty() ? 0 : 1;
      }
  }
  EXPECT_GT(refused, 30);
}

// The ops that read memory where a value says: each names what it was given.
TEST(HostileValues, LengthsAndIndicesAreNamed) {
  struct Row {
    const char* said;
    Value (*build)(Graph& graph, Value numbers);
  };
  static const auto weights = [](Graph& graph, int64_t gates, int64_t length) {
    return graph.constant(Tensor(DType::f32, {1, gates * 2, length}));
  };
  const Row rows[] = {
      {"lstm: length ",
       [](Graph& graph, Value numbers) {
         return lstm(graph.input("x", f32({3, 2, 4})), weights(graph, 4, 4), weights(graph, 4, 2),
                     {.sequence_lens = numbers})[0];
       }},
      {"gru: length ",
       [](Graph& graph, Value numbers) {
         return gru(graph.input("x", f32({3, 2, 4})), weights(graph, 3, 4), weights(graph, 3, 2),
                    {.sequence_lens = numbers})[0];
       }},
      {"rnn: length ",
       [](Graph& graph, Value numbers) {
         return rnn(graph.input("x", f32({3, 2, 4})), weights(graph, 1, 4), weights(graph, 1, 2),
                    {.sequence_lens = numbers})[1];  // the state alone
       }},
      {"reverse_sequence: length ",
       [](Graph& graph, Value numbers) {
         return reverse_sequence(graph.input("x", f32({3, 2, 4})), numbers);
       }},
      {"grouped_matmul: expert ",
       [](Graph& graph, Value numbers) {
         const Value x = reshape(graph.input("x", f32({3, 2, 4})), {Dim(2), Dim(12)});
         return grouped_matmul(x, graph.constant(Tensor(DType::f32, {3, 12, 2})), numbers);
       }},
      {"gather: index ",
       [](Graph& graph, Value numbers) {
         return gather(graph.input("x", f32({3, 2, 4})), numbers);
       }},
  };
  for (const Row& row : rows)
    for (const int64_t number : {int64_t{-4}, int64_t{4}, INT64_MIN, INT64_MAX}) {
      Graph graph;
      graph.output("y", row.build(graph, graph.input("numbers", i64({2}))));
      Tensor numbers(DType::i64, {2});
      numbers.set_integer(1, number);
      const TensorMap inputs{{"x", Tensor(DType::f32, {3, 2, 4})}, {"numbers", numbers}};
      for (const Device& device : test_devices()) {
        const Program program = compile(graph, {.device = device});
        const std::string said = error_of([&] { program.run(inputs); });
        SCOPED_TRACE(text(device.name(), ": ", row.said, number));
        // Numbers beyond a device's words are refused before.
        const bool named = device.is_cpu() || (number >= INT32_MIN && number <= INT32_MAX);
        if (named) EXPECT_EQ(said.rfind(text(row.said, number), 0), 0U) << said;
        EXPECT_NE(said, "");
      }
    }
}

// What a few numbers can make of a small tensor.
TEST(HostileValues, SizesBeyondTheMemoryAreAnErrorOfTheRun) {
  const auto run = [](Value (*build)(Value x)) {
    return error_of([&] {
      Graph graph;
      graph.output("y", build(graph.input("x", f32({2, 3}))));
      compile(graph).run({{"x", Tensor(DType::f32, {2, 3})}});
    });
  };
  constexpr int64_t kMuch = int64_t{1} << 24;
  EXPECT_NE(run([](Value x) { return tile(x, {kMuch, kMuch}) + scalar(x, 1); }), "");
  EXPECT_NE(run([](Value x) { return expand(x, {kMuch, kMuch, 2, 3}) + scalar(x, 1); }), "");
  EXPECT_NE(run([](Value x) { return tile(x, {INT64_MAX, INT64_MAX}); }), "");
  EXPECT_NE(run([](Value x) { return expand(x, {INT64_MAX, INT64_MAX, 2, 3}); }), "");
  EXPECT_NE(run([](Value x) { return pad(x, {Dim(kMuch * kMuch), Dim(0), Dim(0), Dim(0)}); }), "");
  EXPECT_NE(run([](Value x) {
              return pad(x, {Dim(INT64_MAX), Dim(0), Dim(INT64_MAX), Dim(0)});
            }),
            "");
}

TEST(HostileValues, WhoHasNoMemoryIsNamed) {
  constexpr int64_t kMuch = int64_t{1} << 22;
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  graph.output("y", exp(expand(x, {kMuch, kMuch, 2, 3})));
  std::string said = error_of([&] { compile(graph).run({{"x", Tensor(DType::f32, {2, 3})}}); });
  EXPECT_NE(said.find("f32"), std::string::npos) << said;
  EXPECT_NE(said.find(std::to_string(kMuch * kMuch * 6 * 4)), std::string::npos) << said;

  const auto greedy = std::make_shared<OpDef>(OpDef{
      .name = "test.greedy",
      .family = "test",
      .infer = [](const InferSite& site) { return Types{site.in(0)}; },
      .reference = [](const ReferenceSite&) { throw std::bad_alloc(); },
      .host_reason = "a test",
  });
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    Graph own;
    own.output("y", own.add(greedy, {exp(own.input("x", f32({3})))}, {}, "much"));
    said = error_of([&] {
      compile(own, {.device = device}).run({{"x", Tensor(DType::f32, {3})}});
    });
    EXPECT_EQ(said, "test.greedy: the host has no memory to compute f32[3]\n  at node 'much'");
  }
}

// What a run wrote is in no later result, whatever memory that has: kernels that leave elements out
// would show it.
TEST(HostileValues, NothingOfAnotherRunIsLeft) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", "m"})), at = graph.input("at", i64({"k"}));
  graph.output("padded", pad(x, {Dim(1), Dim(2), Dim(1), Dim(2)}));
  graph.output("scattered", scatter(expand(scalar(x, 0), Dims{9, "m"}), at,
                                    slice(x, {0}, {1}, {0}) * expand(scalar(x, 1), Dims{"k", 1})));
  graph.output("summed", sum(x, {0}));
  graph.output("joined", concat({x, x + x}, 1));
  graph.output("kept", unsqueeze(gather(x, at), {0}));
  graph.output("found", cast(non_zero(x), DType::f32));
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    for (const int64_t n : {7, 0, 3, 1, 7, 2}) {
      const int64_t m = n == 3 ? 0 : n + 1, k = n == 0 ? 0 : 2;
      Tensor secret(DType::f32, {n, m});
      for (int64_t i = 0; i < secret.count(); ++i) secret.set(i, n == 7 ? 12345 : i % 3);
      const TensorMap inputs{{"x", secret}, {"at", Tensor(DType::i64, {k})}};
      const TensorMap got = program.run(inputs), expected = evaluate(graph, inputs).outputs;
      for (const auto& [name, tensor] : expected) {
        ASSERT_EQ(got.at(name).shape(), tensor.shape()) << name << " of " << n;
        for (int64_t i = 0; i < tensor.count(); ++i)
          EXPECT_EQ(got.at(name).at(i), tensor.at(i)) << name << " of " << n << " at " << i;
      }
    }
  }
}

// 2^32 is not 0: a pad that was cut to 32 bits would put x elsewhere.
TEST(HostileValues, PadsKeepAllTheirBits) {
  constexpr int64_t kFar = int64_t{1} << 32;
  Graph graph;
  const Value x = graph.input("x", f32({1, 1, 4}));
  graph.output("pooled", max_pool(x, {4}, {.strides = {INT32_MAX}, .pads = {kFar, 0}}).values);
  graph.output("cut", slice(pad(x, {Dim(0), Dim(0), Dim(kFar - 4), Dim(0), Dim(0), Dim(4 - kFar)}),
                            {0}, {1}, {2}));
  const TensorMap inputs{{"x", Tensor::of(DType::f32, {1, 1, 4}, {1, 2, 3, 4})}};
  const auto expect_far = [](const TensorMap& outputs) {
    EXPECT_EQ(outputs.at("pooled").at(0), -kInf);  // x is not under the first window
    EXPECT_EQ(outputs.at("cut").at(0), 0);
  };
  expect_far(evaluate(graph, inputs).outputs);
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const std::string said =
        error_of([&] { expect_far(compile(graph, {.device = device}).run(inputs)); });
    EXPECT_TRUE(said.empty() || said.find("4294967") != std::string::npos) << said;
  }
}

}  // namespace
}  // namespace rlx
