// The proofs that CONTRACT asks for, each on the CPU and on every adapter found.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/conformance/device_test.h"
#include "rlx/op.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Tensor ramp(DType dtype, const Shape& shape, double scale = 1) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, scale * static_cast<double>(i % 7 - 3));
  return tensor;
}

// Runs the graph on a device and by the references, and compares.
void expect_like_reference(const Graph& graph, const TensorMap& inputs, const Device& device) {
  const TensorMap expected = evaluate(graph, inputs).outputs;
  const TensorMap actual = compile(graph, {.device = device}).run(inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_EQ(actual.at(name).type(), tensor.type()) << name << " on " << device.name();
    for (int64_t i = 0; i < tensor.count(); ++i)
      ASSERT_NEAR(actual.at(name).at(i), tensor.at(i), 1e-5 * (1 + std::fabs(tensor.at(i))))
          << name << '[' << i << "] on " << device.name();
  }
}

class Contract : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Contract, every_device(), device_name);

TEST_P(Contract, AGrowingExtentCreatesNothing) {
  Graph graph;
  const Dim n = graph.symbol("n", 1200, 1);
  const Value x = graph.input("x", f32({n, 8}));
  const Value w = graph.weight("w", ramp(DType::f32, {8, 8}, 0.1));
  graph.output("y", relu(matmul(x, w)) + x);
  const Program program = compile(graph, {.device = device()});
  RunReport report;
  const auto run = [&](int64_t extent) {
    return program.run({{"x", ramp(DType::f32, {extent, 8})}}, {.report = &report}).tensors;
  };
  run(64);  // enough rows for a kernel of the CPU to pack the weight
  run(1);
  const Counters before = program.counters();
  const int64_t packs = report.packs;
  EXPECT_EQ(packs > 0, device().is_cpu());
  for (int64_t extent = 2; extent <= 1001; ++extent)
    ASSERT_EQ(run(extent).at("y").shape(), (Shape{extent, 8}));
  EXPECT_EQ(report.packs, packs);
  const Counters after = program.counters();
  EXPECT_EQ(after.runs - before.runs, 1000u);
  EXPECT_EQ(after.pipelines, before.pipelines);
  EXPECT_EQ(after.plans, before.plans);
  EXPECT_EQ(after.buffers, before.buffers);
  EXPECT_EQ(after.bind_groups, before.bind_groups);
}

TEST_P(Contract, ASymbolWithoutABoundIsPlannedPerValueAndCached) {
  Graph graph;
  graph.output("y", exp(graph.input("x", f32({"n"}))));
  const Program program = compile(graph, {.device = device()});
  for (const int64_t n : {3, 5, 3, 5, 3}) program.run({{"x", ramp(DType::f32, {n})}});
  EXPECT_EQ(program.counters().plans, 2u);
}

TEST_P(Contract, ASortTakesSeveralDispatchesAndTemporaries) {
  Graph graph;
  const TopK sorted = sort(graph.input("x", f32({3, 1031})), -1, true);
  graph.output("values", sorted.values);
  graph.output("indices", sorted.indices);
  expect_like_reference(graph, {{"x", ramp(DType::f32, {3, 1031})}}, device());
}

TEST_P(Contract, AnIfFollowsAConditionOfTheRun) {
  const auto body = [](double factor) {
    Graph graph;
    const Value x = graph.input("x", f32({4}));
    graph.output("y", x * scalar(x, factor));
    return graph;
  };
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  graph.output("y", if_else(graph.input("flag", boolean({})), {x}, body(2), body(-3))[0]);
  for (const double flag : {0.0, 1.0})
    expect_like_reference(
        graph, {{"x", ramp(DType::f32, {4})}, {"flag", Tensor::scalar(DType::boolean, flag)}},
        device());
}

TEST_P(Contract, AnIfFollowsAConditionComputedOnTheDevice) {
  Graph then, otherwise;
  const Value a = then.input("x", f32({4})), b = otherwise.input("x", f32({4}));
  then.output("y", exp(a));
  otherwise.output("y", -b);
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  const Value positive = greater(sum(x), scalar(x, 0));
  graph.output("y", if_else(positive, {x}, std::move(then), std::move(otherwise))[0]);
  expect_like_reference(graph, {{"x", Tensor::of(DType::f32, {4}, {1, 2, 3, 4})}}, device());
  expect_like_reference(graph, {{"x", Tensor::of(DType::f32, {4}, {-1, -2, 3, -4})}}, device());
  RunReport report;
  const Program program = compile(graph, {.device = device()});
  program.run({{"x", ramp(DType::f32, {4})}}, {.report = &report});
  if (device().is_cpu()) return;
  ASSERT_EQ(report.host_steps.size(), 1u);  // the one synchronisation, by name
  EXPECT_NE(report.host_steps[0].reason.find("if_else needs the values of"), std::string::npos);
}

TEST_P(Contract, ABoundedLoopCarriesValues) {
  Graph body;
  const Value i = body.input("i", i64({})), a = body.input("a", f32({3})),
              b = body.input("b", f32({3}));
  body.output("a", b);  // swapped, so that a naive copy would lose one
  body.output("b", a + b + cast(i, DType::f32));
  Graph graph;
  const Value x = graph.input("x", f32({3})), y = graph.input("y", f32({3}));
  const Values out = loop(graph.input("count", i64({})), {x, y}, std::move(body));
  graph.output("a", out[0]);
  graph.output("b", out[1]);
  for (const double count : {0.0, 1.0, 5.0})
    expect_like_reference(graph,
                          {{"x", Tensor::of(DType::f32, {3}, {1, 2, 3})},
                           {"y", Tensor::of(DType::f32, {3}, {-1, 0.5, 4})},
                           {"count", Tensor::scalar(DType::i64, count)}},
                          device());
}

TEST_P(Contract, AReshapeTakesItsTargetAtRunTime) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 6}));
  graph.output("y", softmax(reshape(exp(x), graph.input("target", i64({3})))));
  for (const auto& target : {std::vector<double>{2, 3, 4}, {4, -1, 2}, {1, 24, 1}})
    expect_like_reference(
        graph,
        {{"x", ramp(DType::f32, {4, 6}, 0.3)}, {"target", Tensor::of(DType::i64, {3}, target)}},
        device());
  const Program program = compile(graph, {.device = device()});
  EXPECT_NE(error_of([&] {
              program.run({{"x", ramp(DType::f32, {4, 6})},
                           {"target", Tensor::of(DType::i64, {3}, {5, 5, 5})}});
            }).find("reshape"),
            std::string::npos);
}

TEST_P(Contract, AReshapeTargetComputedOnTheDeviceIsReadBack) {
  Graph graph;
  const Value x = graph.input("x", f32({12}));
  const Value rows = cast(sum(x), DType::i64);  // 3
  const Value target =
      concat({reshape(rows, Dims{1}), graph.constant(Tensor::of(DType::i64, {1}, {-1}))}, 0);
  graph.output("y", reshape(exp(x), target));
  Tensor input(DType::f32, {12});
  for (const int i : {1, 4, 7}) input.set(i, 1);
  expect_like_reference(graph, {{"x", input}}, device());
}

TEST_P(Contract, AStateIsAppendedTo) {
  Graph graph;
  const Value cache = graph.state("cache", f32({16, 4}));
  const Value at = graph.input("at", i64({2})), end = graph.input("end", i64({1}));
  const Value next = write_slice(cache, graph.input("x", f32({"rows", 4})), at);
  graph.update(cache, next);
  graph.output("sum",
               sum(slice(next, graph.constant(Tensor::of(DType::i64, {1}, {0})), end, {0}), {0}));
  Program program = compile(graph, {.device = device()});
  double expected = 0;
  for (int64_t position = 0; position < 16; position += 2) {
    Tensor rows(DType::f32, {2, 4});
    for (int64_t i = 0; i < 8; ++i) rows.set(i, static_cast<double>(position + 1));
    expected += 2.0 * static_cast<double>(position + 1);
    const TensorMap out =
        program.run({{"x", rows},
                     {"at", Tensor::of(DType::i64, {2}, {static_cast<double>(position), 0})},
                     {"end", Tensor::of(DType::i64, {1}, {static_cast<double>(position + 2)})}});
    ASSERT_EQ(out.at("sum").at(0), expected) << "position " << position;
  }
  EXPECT_EQ(program.read_state("cache").at(60), 15);
  Tensor saved = program.read_state("cache");
  program.reset_state();
  EXPECT_EQ(program.read_state("cache").at(60), 0);
  program.write_state("cache", saved);
  EXPECT_EQ(program.read_state("cache").at(60), 15);
}

TEST_P(Contract, AQuantisedWeightIsDecodedInTheKernel) {
  Graph graph;
  const Value w = graph.weight("w", ramp(DType::i8, {5, 64}));
  const Value scales = graph.weight("scales", ramp(DType::f32, {5, 2}, 0.25));
  graph.output("y", quantised_matmul(graph.input("x", f32({3, 64})), w, scales, 32));
  expect_like_reference(graph, {{"x", ramp(DType::f32, {3, 64}, 0.5)}}, device());
}

// y = x * factor + bias, a user's own op: reference, WGSL and gradient from outside the library.
OpDef scaled_bias() {
  OpDef op;
  op.name = "user.scaled_bias";
  op.inputs = {2, 2, {"x", "bias"}};
  op.attrs = {{"factor", 2.0}};
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite& site) {
    const double factor = site.attrs.get<double>("factor");
    for (int64_t i = 0; i < site.in(0).count(); ++i)
      site.out().set(i, site.in(0).at(i) * factor + site.in(1).at(i % site.in(1).count()));
  };
  op.lower = [](const LowerSite& site) -> Steps {
    const Dim size = count(site.in(0).shape);
    return Dispatch{
        .kernel = {"user.scaled_bias", {"scaled_bias.wgsl", R"(
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.size) { return; }
  store_y(i, load_x(i) * params.factor + load_bias(i % params.bias_size));
}
)"}},
        .operands = {site.read("x", 0), site.read("bias", 1), site.write("y")},
        .params = {{"size", size},
                   {"bias_size", count(site.in(1).shape)},
                   {"factor", site.attrs().get<double>("factor")}},
        .workgroups = ceil_div(size, 64),
    };
  };
  return op;
}

TEST_P(Contract, AUsersOpBringsItsOwnWgsl) {
  const auto op = std::make_shared<const OpDef>(scaled_bias());
  Graph graph;
  const Value x = graph.input("x", f32({"n", 5}));
  // Its operand is a view, which the kernel knows nothing of.
  const Value y =
      graph.add(op, {transpose(x, {1, 0}), graph.input("bias", f32({"n"}))}, {{"factor", 3.0}});
  graph.output("y", relu(y));
  expect_like_reference(
      graph, {{"x", ramp(DType::f32, {67, 5})}, {"bias", ramp(DType::f32, {67}, 0.5)}}, device());
}

TEST_P(Contract, AUsersBrokenWgslIsReportedWithItsPlace) {
  if (device().is_cpu()) return;
  OpDef op = scaled_bias();
  op.lower = [](const LowerSite& site) -> Steps {
    return Dispatch{
        .kernel =
            {"broken",
             {"broken.wgsl",
              "fn helper() {}\n@compute @workgroup_size(WORKGROUP)\nfn main(ids: Ids, @builtin(local_invocation_index) lane: u32) { let x: f32 = 1u; }\n"}},
        .operands = {site.write("y")},
        .workgroups = 1};
  };
  Graph graph;
  graph.output("y", graph.add(std::make_shared<const OpDef>(op),
                              {graph.input("x", f32({4})), graph.input("b", f32({4}))}));
  const std::string message = error_of([&] { compile(graph, {.device = device()}); });
  EXPECT_NE(message.find("kernel broken"), std::string::npos) << message;
  EXPECT_NE(message.find("broken.wgsl:3:"), std::string::npos) << message;
}

TEST_P(Contract, AnOpWithoutAKernelIsAHostStepWithAReason) {
  OpDef op = scaled_bias();
  op.lower = nullptr;
  op.host_reason = "it was written for the CPU only";
  Graph graph;
  const Value y = graph.add(std::make_shared<const OpDef>(op),
                            {exp(graph.input("x", f32({4}))), graph.input("b", f32({4}))});
  graph.output("middle", relu(y));
  graph.output("last", y);
  expect_like_reference(graph, {{"x", ramp(DType::f32, {4})}, {"b", ramp(DType::f32, {4})}},
                        device());
  if (device().is_cpu()) return;
  RunReport report;
  compile(graph, {.device = device()})
      .run({{"x", ramp(DType::f32, {4})}, {"b", ramp(DType::f32, {4})}}, {.report = &report});
  ASSERT_EQ(report.host_steps.size(), 1u);
  EXPECT_EQ(report.host_steps[0].reason, "it was written for the CPU only");
  EXPECT_EQ(
      error_of([&] { compile(graph, {.device = device(), .strict = true}); }),
      "user.scaled_bias: would run on the host: it was written for the CPU only\n  at node 'user.scaled_bias_3'");
}

TEST_P(Contract, SymbolsThatMustAgreeAreCheckedWhenBound) {
  Graph graph;
  graph.output("y", graph.input("a", f32({"n"})) + graph.input("b", f32({"m"})));
  const Program program = compile(graph, {.device = device()});
  const TensorMap out = program.run({{"a", ramp(DType::f32, {3})}, {"b", ramp(DType::f32, {3})}});
  EXPECT_EQ(out.at("y").shape(), Shape{3});
  EXPECT_EQ(
      program.run({{"a", ramp(DType::f32, {3})}, {"b", ramp(DType::f32, {1})}}).at("y").shape(),
      Shape{3});
  const std::string message = error_of([&] {
    program.run({{"a", ramp(DType::f32, {3})}, {"b", ramp(DType::f32, {2})}});
  });
  EXPECT_NE(message.find("n and m"), std::string::npos) << message;
  EXPECT_NE(message.find("3 and 2"), std::string::npos) << message;
}

TEST_P(Contract, ASymbolBeyondItsBoundIsRefused) {
  Graph graph;
  const Dim n = graph.symbol("n", 8);
  graph.output("y", exp(graph.input("x", f32({n}))));
  const Program program = compile(graph, {.device = device()});
  EXPECT_EQ(error_of([&] {
              program.run({{"x", ramp(DType::f32, {9})}});
            }),
            "run: symbol 'n' is 9, the graph allows 0 to 8");
  EXPECT_EQ(program.run({{"x", ramp(DType::f32, {0})}}).at("y").count(), 0);
}

}  // namespace
}  // namespace rlx
