// On the CPU softmax, norms, reductions, attention, gathers, resizes and quantised products go on
// with what follows them, as products and convolutions do.

#include <gtest/gtest.h>

#include <cmath>

#include "rlx/op.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {

const OpDef& attention_op();
const OpDef& grouped_matmul_op();
const OpDef& layer_norm_op();
const OpDef& quantised_matmul_op();
const OpDef& rms_norm_op();

namespace {

Tensor waves(const TensorType& type, double step) {
  Tensor tensor(type.dtype, concrete(type.shape));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, std::sin(step * static_cast<double>(i + 1)));
  return tensor;
}

// An operand that differs by element, and one that differs by column.
Value gone_on(Graph& graph, Value y) {
  const Value factor = graph.input("factor", y.type()),
              row = graph.input("row", {y.dtype(), {y.shape().back()}});
  return sigmoid(y * factor) + row;
}

Value applied(const OpDef& op, const Values& inputs, const Attrs& attrs = {}) {
  return inputs[0].apply(op, inputs, attrs);
}

struct Row {
  const char* name;  // of the call
  std::function<Value(Graph& graph, DType dtype, int64_t n)> make;
};

Value input(Graph& graph, const char* name, DType dtype, const Dims& shape) {
  return graph.input(name, {dtype, shape});
}
Value blocks(Graph& graph, int64_t rows, int64_t inner) {
  return graph.weight("w", encode_blocks(waves(f32({rows, inner}), 0.37), block_format("q8_0", 0)));
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"softmax",
       [](Graph& g, DType t, int64_t n) {
         return softmax(input(g, "x", t, {n, 3, 67}));
       }},
      {"softmax",
       [](Graph& g, DType t, int64_t n) {
         return softmax(input(g, "x", t, {n, 5, 67}), 1);
       }},
      {"log_softmax",
       [](Graph& g, DType t, int64_t n) {
         return log_softmax(input(g, "x", t, {n, 31}));
       }},
      {"layer_norm",
       [](Graph& g, DType t, int64_t n) {
         return applied(layer_norm_op(), {input(g, "x", t, {n, 70}), input(g, "gamma", t, {70}),
                                          input(g, "beta", t, {70})});
       }},
      {"layer_norm",
       [](Graph& g, DType t, int64_t n) {
         return applied(layer_norm_op(), {input(g, "x", t, {n, 3, 7})}, {{"axis", 1}});
       }},
      {"rms_norm",
       [](Graph& g, DType t, int64_t n) {
         return applied(rms_norm_op(), {input(g, "x", t, {n, 33}), input(g, "gamma", t, {33})});
       }},
      {"group_norm",
       [](Graph& g, DType t, int64_t n) {
         return group_norm(input(g, "x", t, {n, 6, 5, 7}), input(g, "gamma", t, {6}),
                           input(g, "beta", t, {6}), 3);
       }},
      {"sum",
       [](Graph& g, DType t, int64_t n) {
         return sum(input(g, "x", t, {n, 9, 67}), {-1});
       }},
      {"mean",
       [](Graph& g, DType t, int64_t n) {
         return mean(input(g, "x", t, {n, 9, 67}), {1});
       }},
      {"reduce_max",
       [](Graph& g, DType t, int64_t n) {
         return reduce_max(input(g, "x", t, {7, n, 301}), {0});
       }},
      {"attention",
       [](Graph& g, DType t, int64_t n) {
         return applied(attention_op(),
                        {input(g, "x", t, {2, 3, n, 8}), input(g, "k", t, {2, 3, 9, 8}),
                         input(g, "v", t, {2, 3, 9, 5})});
       }},
      {"attention",
       [](Graph& g, DType t, int64_t n) {
         return applied(attention_op(),
                        {input(g, "x", t, {2, n, 24}), input(g, "k", t, {2, 9, 24}),
                         input(g, "v", t, {2, 9, 24}), input(g, "bias", t, {n, 9})},
                        {{"heads", 3}});
       }},
      {"attention",
       [](Graph& g, DType t, int64_t n) {
         return applied(attention_op(),
                        {input(g, "x", t, {2, n, 3, 8}), input(g, "k", t, {2, 9, 3, 8}),
                         input(g, "v", t, {2, 9, 3, 8})},
                        {{"layout", "bshd"}});
       }},
      {"gather",
       [](Graph& g, DType t, int64_t n) {
         return gather(input(g, "x", t, {9, n, 67}), g.input("i", {DType::i64, {5}}), 0);
       }},
      {"gather",
       [](Graph& g, DType t, int64_t n) {
         return gather(input(g, "x", t, {n, 9}), g.input("i", {DType::i32, {67}}), 1);
       }},
      {"resize",
       [](Graph& g, DType t, int64_t n) {
         return resize(input(g, "x", t, {n, 3, 5, 4}), Dims{n, 3, 9, 8}, {.mode = "linear"});
       }},
      {"quantised_matmul",
       [](Graph& g, DType t, int64_t n) {
         return quantised_matmul(input(g, "x", t, {n, 64}), blocks(g, 67, 64), "q8_0");
       }},
      {"quantised_matmul",
       [](Graph& g, DType t, int64_t n) {
         Tensor w(DType::i8, {67, 64});
         for (int64_t i = 0; i < w.count(); ++i) w.set_integer(i, i * 37 % 101 - 50);
         return applied(quantised_matmul_op(),
                        {input(g, "x", t, {n, 64}), g.weight("w", w),
                         g.weight("s", waves(f32({67, 2}), 0.01))},
                        {{"block", 32}});
       }},
      {"grouped_matmul",
       [](Graph& g, DType t, int64_t n) {
         return applied(grouped_matmul_op(),
                        {input(g, "x", t, {n, 33}), input(g, "w", t, {4, 33, 35}),
                         g.input("i", {DType::i32, {n}})});
       }},
  };
  return all;
}

TensorMap data_of(const Graph& graph) {
  TensorMap data;
  for (const Node& node : graph.nodes()) {
    if (!is_input(node)) continue;
    const TensorType& type = node.types[0];
    if (is_float(type.dtype)) {
      data[node.name] = waves(type, 0.1 + 0.07 * static_cast<double>(data.size()));
      continue;
    }
    Tensor indices(type.dtype, concrete(type.shape));
    for (int64_t i = 0; i < indices.count(); ++i) indices.set_integer(i, i * 7 % 4);
    data[node.name] = indices;
  }
  return data;
}

std::string call_of(const Graph& graph) {
  std::string names;
  const Image image = compile_image(graph);
  for (const image::Step& step : image.data().run)
    if (const auto* call = std::get_if<image::Call>(&step.what))
      names += call->op + '(' + image::description(call->tile) + ')';
  return names;
}

// `other` is another result, which the tile stores beside the first.
void expect_one_call(const Row& row, DType dtype, int64_t n, bool other, double tolerance) {
  Graph graph;
  const Value y = row.make(graph, dtype, n);
  graph.output("y", gone_on(graph, y));
  if (other) graph.output("other", y);
  const std::string where = text(row.name, ' ', y.type(), other ? " and itself" : "");
  EXPECT_EQ(call_of(graph), text(row.name, "(mul + sigmoid + add)")) << where;
  const TensorMap data = data_of(graph), fused = compile(graph).run(data),
                  plain = compile(graph, {.optimise = false}).run(data);
  for (const auto& [name, expected] : plain) {
    const Tensor& got = fused.at(name);
    ASSERT_EQ(got.type(), expected.type()) << where;
    for (int64_t i = 0; i < got.count(); ++i)
      ASSERT_NEAR(got.at(i), expected.at(i), tolerance * (1 + std::fabs(expected.at(i))))
          << where << ' ' << name << ' ' << i;
  }
}

TEST(HostRows, GoOnWithWhatFollowsThem) {
  for (const Row& row : rows())
    for (const int64_t n : {1, 5, 130}) {
      expect_one_call(row, DType::f32, n, false, 1e-5);
      expect_one_call(row, DType::f32, n, true, 1e-5);
    }
  for (const size_t i : {size_t{0}, size_t{3}, size_t{13}})
    expect_one_call(rows()[i], DType::f32, 600, false, 1e-5);
}

TEST(HostRows, OfNothingAreNothing) {
  for (const Row& row : rows()) expect_one_call(row, DType::f32, 0, false, 0);
}

TEST(HostRows, AreRoundedAsTheOpAloneIs) {
  for (const Row& row : rows()) expect_one_call(row, DType::f16, 5, true, 2e-3);
}

// Its tile finds all of it aside: the op's integers do not lie where the floats will.
TEST(HostRows, IntegersGoOnAsFloats) {
  Graph graph;
  const Value x = graph.input("x", {DType::i32, {7, 9}});
  graph.output("y", cast(reduce_max(x, {1}), DType::f32) * graph.input("f", f32({7})));
  Tensor numbers(DType::i32, {7, 9});
  for (int64_t i = 0; i < 63; ++i) numbers.set_integer(i, i * 37 % 50 - 25);
  const TensorMap data{{"x", numbers}, {"f", waves(f32({7}), 0.3)}};
  const Tensor got = compile(graph).run(data).at("y"),
               expected = compile(graph, {.optimise = false}).run(data).at("y");
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(got.at(i), expected.at(i));
}

}  // namespace
}  // namespace rlx
