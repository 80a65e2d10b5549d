#include <gtest/gtest.h>

#include "rlx/compile/lower_graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/testing.h"

namespace rlx {

using namespace detail;
namespace {

Tensor product(const Tensor& a, const Tensor& b, bool transpose_a = false,
               bool transpose_b = false) {
  Graph graph;
  graph.output("y", matmul(graph.input("a", a.type()), graph.input("b", b.type()), transpose_a,
                           transpose_b));
  return evaluate(graph, {{"a", a}, {"b", b}}).outputs.at("y");
}

std::string error_of(const TensorType& a, const TensorType& b) {
  Graph graph;
  try {
    matmul(graph.input("a", a), graph.input("b", b));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

size_t dispatches(const Graph& graph, const DeviceTraits& traits) {
  return lower_graph(graph, traits).steps.list.size();
}

TEST(Matmul, RowsMeetColumns) {
  expect_tensor(product(numbered({2, 3}), numbered({3, 2})), {2, 2}, {22, 28, 49, 64});
}

TEST(Matmul, EitherSideIsTransposedByAttribute) {
  expect_tensor(product(numbered({3, 2}), numbered({3, 1}), true), {2, 1}, {22, 28});
  expect_tensor(product(numbered({1, 3}), numbered({2, 3}), false, true), {1, 2}, {14, 32});
}

TEST(Matmul, VectorsAreDroppedFromTheResult) {
  const Tensor v = numbered({2});
  expect_tensor(product(v, v), {}, {5});
  expect_tensor(product(v, numbered({2, 3})), {3}, {9, 12, 15});
  expect_tensor(product(numbered({3, 2}), v), {3}, {5, 11, 17});
  expect_tensor(product(numbered({2, 1, 2}), v), {2, 1}, {5, 11});
}

TEST(Matmul, BatchDimsBroadcastBothWays) {
  const Tensor y = product(numbered({2, 1, 1, 2}), numbered({3, 2, 1}));
  expect_tensor(y, {2, 3, 1, 1}, {5, 11, 17, 11, 25, 39});
}

TEST(Matmul, AnEmptySumIsZero) {
  expect_tensor(product(numbered({2, 0}), numbered({0, 1})), {2, 1}, {0, 0});
  expect_tensor(product(numbered({0, 3}), numbered({3, 2})), {0, 2}, {});
}

TEST(Matmul, IntegersWrap) {
  const Tensor a = Tensor::of(DType::i8, {1, 2}, {100, 100});
  const Tensor b = Tensor::of(DType::i8, {2, 1}, {1, 1});
  EXPECT_EQ(product(a, b).at(0), -56);
}

TEST(Matmul, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({2, 3}), f32({4, 2})),
            "matmul: the inner dims of f32[2, 3] and f32[4, 2] differ: 3 and 4");
  EXPECT_EQ(error_of(f32({2, 3}), f16({3, 2})),
            "matmul: operands are f32[2, 3] and f16[3, 2], of different dtypes");
  EXPECT_EQ(error_of(f32({}), f32({2})), "matmul: needs rank 1 or more, got f32[] and f32[2]");
  EXPECT_EQ(error_of(boolean({2}), boolean({2})), "matmul: needs numbers, got bool[2]");
}

TEST(Matmul, InnerDimsThatOnlyARunKnowsAreCheckedThen) {
  Graph graph;
  graph.output("y", matmul(graph.input("a", f32({2, "n"})), graph.input("b", f32({"m", 3}))));
  EXPECT_THROW(evaluate(graph, {{"a", numbered({2, 4})}, {"b", numbered({5, 3})}}), Error);
  EXPECT_EQ(
      evaluate(graph, {{"a", numbered({2, 4})}, {"b", numbered({4, 3})}}).outputs.at("y").shape(),
      (Shape{2, 3}));
}

TEST(Matmul, ViewsAreReadInPlace) {
  Graph graph;
  const Value a = transpose(graph.input("a", f32({3, 4, 5})), {1, 0, 2});
  const Value b = transpose(graph.input("b", f32({6, 5})), {1, 0});
  graph.output("y", matmul(a, b));
  DeviceTraits traits;
  traits.device_class = DeviceClass::software;
  EXPECT_EQ(dispatches(graph, traits), 1u);
}

TEST(Matmul, APackedResultThatIsSummedInPartsGoesThroughF32) {
  Graph graph;
  graph.output("y", matmul(graph.input("a", {DType::bf16, {4, 600}}),
                           graph.input("b", {DType::bf16, {600, 8}})));
  DeviceTraits traits;
  traits.device_class = DeviceClass::software;
  traits.max_binding_bytes = 4096;
  const Lowered lowered = lower_graph(graph, traits);
  ASSERT_EQ(lowered.steps.list.size(), 2u);
  const auto& parts = std::get<Dispatch>(lowered.steps.list[0].what);
  EXPECT_GT(parts.repeat.number(), 1);
  EXPECT_EQ(parts.operands[2].dtype, DType::f32);
  EXPECT_EQ(parts.operands[2].access, Access::read_write);
}

}  // namespace
}  // namespace rlx
