// Tensors beyond what a device binds at once: the README lists what goes on with them, and this
// holds it to that, by a device whose limit is lowered.

#include <gtest/gtest.h>

#include "rlx/conformance/disagreement.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_experts.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {
namespace {

Tensor some(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, static_cast<double>((i * 7919) % 1013) / 507 - 1);
  return tensor;
}
Tensor indices(const Shape& shape, int64_t below) {
  Tensor tensor(DType::i64, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_integer(i, (i * 31) % below);
  return tensor;
}

void expect_works(std::string_view what, const Graph& graph, const TensorMap& inputs,
                  int64_t limit = 1024) {
  SCOPED_TRACE(what);
  FindOptions options = test_find_options();
  options.max_binding_bytes = limit;
  const std::optional<Device> device = test_device("lavapipe", options);
  if (!device) GTEST_SKIP() << "there is no lavapipe here";
  try {
    const TensorMap outputs = compile(graph, {.device = *device, .strict = true}).run(inputs);
    const auto mismatch = disagreement({graph.clone(), inputs}, outputs);
    EXPECT_FALSE(mismatch) << *mismatch;
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}
template <class Build>
void expect_works(const char* what, const Shape& shape, Build build) {
  Graph graph;
  const Value x = graph.input("x", f32({shape.begin(), shape.end()}));
  graph.output("y", build(x));
  expect_works(what, graph, {{"x", some(shape)}});
}

TEST(LargeTensors, RowsAlongAnyAxis) {
  expect_works("softmax along axis 0", {37, 41}, [](Value x) { return softmax(x, 0); });
  expect_works("softmax along axis 1 of 3", {5, 37, 9}, [](Value x) { return softmax(x, 1); });
  expect_works("log_softmax along axis 0", {37, 41}, [](Value x) { return log_softmax(x, 0); });
  expect_works("argmax along axis 0", {37, 41}, [](Value x) { return argmax(x, 0); });
  expect_works("softmax of one long row", {1500}, [](Value x) { return softmax(x, 0); });
  expect_works("log_softmax of long rows", {2, 1500}, [](Value x) { return log_softmax(x, 1); });
}

TEST(LargeTensors, ElementsOfViews) {
  expect_works("transposed", {37, 37}, [](Value x) { return transpose(x, {1, 0}) + x; });
  expect_works("sliced", {60, 37},
               [](Value x) { return exp(slice(x, {1}, {60}, {0}, {2})) * scalar(x, 2); });
  expect_works("columns", {60, 37}, [](Value x) { return exp(slice(x, {3}, {30}, {1})); });
  expect_works("repeated", {37, 1}, [](Value x) { return exp(expand(x, Dims{37, 41})); });
  expect_works("turned", {7, 9, 11}, [](Value x) { return tanh(transpose(x, {2, 0, 1})); });
}

TEST(LargeTensors, PlacesThatIndicesName) {
  expect_works("gather along axis 1", {37, 41},
               [](Value x) { return gather(x, constant_beside(x, indices({20}, 41)), 1); });
  expect_works("gather_elements", {37, 41}, [](Value x) {
    return gather_elements(x, constant_beside(x, indices({37, 41}, 41)), 1);
  });
  expect_works("scatter along axis 1", {37, 41}, [](Value x) {
    return scatter(x, constant_beside(x, indices({3}, 41)), constant_beside(x, some({37, 3})), 1);
  });
  expect_works("scatter along axis 0", {37, 41}, [](Value x) {
    return scatter(x, constant_beside(x, indices({3}, 37)), constant_beside(x, some({3, 41})), 0);
  });
  expect_works("sort", {37, 41}, [](Value x) { return sort(x, 1).values; });
  expect_works("sort along axis 0", {37, 41}, [](Value x) { return sort(x, 0).values; });
  expect_works("top_k", {37, 41}, [](Value x) { return top_k(x, 5).values; });
  expect_works("cumsum", {37, 41}, [](Value x) { return cumsum(x, 1); });
}

TEST(LargeTensors, Products) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 41}));
  graph.output("y", matmul(x, graph.constant(some({41, 37}))));
  expect_works("matmul with a symbolic extent", graph, {{"x", some({33, 41})}});
  Graph attends;
  const Value q = attends.input("q", f32({2, 3, 9, 8}));
  attends.output("y", attention(q, attends.input("k", f32({2, 3, 15, 8})),
                                attends.input("v", f32({2, 3, 15, 8}))));
  const TensorMap heads{
      {"q", some({2, 3, 9, 8})}, {"k", some({2, 3, 15, 8})}, {"v", some({2, 3, 15, 8})}};
  expect_works("attention", attends, heads);
  Graph sinks;
  sinks.output("y",
               attention(sinks.input("q", f32({2, 3, 9, 8})), sinks.input("k", f32({2, 3, 15, 8})),
                         sinks.input("v", f32({2, 3, 15, 8})), {}, {}, {},
                         sinks.constant(Tensor::of(DType::f32, {3}, {-1, 1, 3}))));
  expect_works("attention with sinks", sinks, heads);
}

// A row of x takes 3 KB, and all weights at least 14. Rows of some formats are no whole words.
TEST(LargeTensors, WeightsInBlocksOf256) {
  constexpr int64_t kLimit = 4096, kInner = 768, kRows = 90, kExperts = 3;
  int formats = 0;
  for (const BlockFormat& format : block_formats()) {
    if (format.elements != 256) continue;
    const std::string name(format.name);
    const Tensor w = encode_blocks(some({kRows, kInner}), format);
    ASSERT_GT(w.count(), 2 * kLimit);
    Graph graph;
    const Value x = graph.input("x", f32({3, kInner}));
    graph.output("product", quantised_matmul(x, graph.weight("w", w), name));
    if (formats++ % 4 == 0) {  // their kernels take long to compile: bytes that are words, and not
      const Tensor experts = w.reshaped({kExperts, kRows / kExperts, w.shape()[1]});
      const Value many = concat({x, x, x, x}, 0);
      graph.output("by experts", grouped_matmul(many, graph.weight("experts", experts),
                                                graph.constant(indices({12}, kExperts)), name));
      graph.output("rows", quantised_gather(graph.weight("table", w),
                                            graph.constant(indices({5}, kRows)), name));
    }
    expect_works(name, graph, {{"x", some({3, kInner})}}, kLimit);
  }
  EXPECT_EQ(formats, 9);
}

TEST(LargeTensors, Pictures) {
  expect_works("convolution", {5, 3, 7, 7}, [](Value x) {
    return conv2d(x, constant_beside(x, some({4, 3, 3, 3})));
  });
  expect_works("convolution of one picture", {1, 3, 8, 8}, [](Value x) {
    return conv2d(x, constant_beside(x, some({12, 3, 3, 3})));
  });
  expect_works("max_pool", {3, 4, 9, 9}, [](Value x) { return max_pool(x, {2, 2}).values; });
  expect_works("average_pool", {3, 4, 9, 9}, [](Value x) { return average_pool(x, {3, 3}); });
}

}  // namespace
}  // namespace rlx
