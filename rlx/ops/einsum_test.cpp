#include <gtest/gtest.h>

#include "rlx/ops/ops_einsum.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/ops_solve.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor summed(const std::string& equation, const std::vector<Tensor>& operands) {
  return result_of(operands, [&](const Values& v) { return einsum(equation, v); });
}

TEST(Einsum, LettersThatVanishAreSummed) {
  const Tensor a = numbered({2, 3}), b = numbered({3, 2});
  expect_tensor(summed("ij,jk->ik", {a, b}), {2, 2}, {22, 28, 49, 64}, 1e-5);
  expect_tensor(summed("ij, jk -> ki", {a, b}), {2, 2}, {22, 49, 28, 64}, 1e-5);
  expect_tensor(summed("ij->i", {a}), {2}, {6, 15}, 1e-5);
  expect_tensor(summed("ij->", {a}), {}, {21}, 1e-5);
}

TEST(Einsum, WithoutAnArrowLettersThatOccurOnceRemainInAlphabeticalOrder) {
  expect_tensor(summed("ba", {numbered({2, 2})}), {2, 2}, {1, 3, 2, 4}, 1e-5);
  expect_tensor(summed("ii", {numbered({3, 3})}), {}, {15}, 1e-5);
}

TEST(Einsum, ARepeatedLetterIsTheDiagonal) {
  expect_tensor(summed("ii->i", {numbered({3, 3})}), {3}, {1, 5, 9}, 1e-5);
  expect_tensor(summed("iij->ji", {numbered({2, 2, 2})}), {2, 2}, {1, 7, 2, 8}, 1e-5);
}

TEST(Einsum, ADiagonalMayHaveAnExtentThatARunTells) {
  for (const Dims& shape :
       {Dims{2, "n", "n"}, Dims{2, "n", "m"}, Dims{2, 3, "n"}, Dims{2, "n", 3}}) {
    Graph graph;
    graph.output("y", einsum("bii->ib", {graph.input("x", {DType::f32, shape})}));
    expect_tensor(evaluate(graph, {{"x", numbered({2, 3, 3})}}).outputs.at("y"), {3, 2},
                  {1, 10, 5, 14, 9, 18}, 1e-5);
    EXPECT_NE(error_of([&] { evaluate(graph, {{"x", numbered({2, 3, 4})}}); }), "");
    if (!shape[1].is_number() && !shape[2].is_number())
      EXPECT_EQ(evaluate(graph, {{"x", numbered({2, 0, 0})}}).outputs.at("y").shape(),
                (Shape{0, 2}));
  }
}

TEST(Einsum, EllipsesBroadcastFromTheEnd) {
  const Tensor y = summed("...i,...i->...", {numbered({2, 1, 2}), numbered({3, 2})});
  expect_tensor(y, {2, 3}, {5, 11, 17, 11, 25, 39}, 1e-5);
}

TEST(Einsum, ManyOperandsMeetFromTheLeft) {
  expect_tensor(summed("i,i,i->i", {numbered({2}), numbered({2}), numbered({2})}), {2}, {1, 8},
                1e-5);
}

TEST(Einsum, ErrorsQuoteTheEquation) {
  const auto error = [](const std::string& equation, const std::vector<Tensor>& operands) {
    return error_of([&] { summed(equation, operands); });
  };
  const Tensor a = numbered({2, 3});
  EXPECT_EQ(error("ij,jk->ik", {a}), "einsum: 'ij,jk->ik' is for 2 operands, there are 1");
  EXPECT_EQ(error("ijk->i", {a}), "einsum: 'ijk' of 'ijk->i' does not fit f32[2, 3]");
  EXPECT_EQ(error("ij->ik", {a}), "einsum: 'ij->ik' has 'k' in its result and in no operand");
  EXPECT_EQ(error("ij->ii", {a}), "einsum: 'ij->ii' repeats a letter in its result");
  EXPECT_EQ(error("i1j->i", {a}), "einsum: 'i1j->i' has '1' where a letter should be");
  EXPECT_EQ(error("ii->i", {a}),
            "einsum: the diagonal of f32[2, 3] over dims 0 and 1 needs them equal");
}

TEST(DotGeneral, BatchDimsComeFirst) {
  const Tensor y = result_of({numbered({2, 2, 1}), numbered({1, 2, 2})}, [](const Values& v) {
    return dot_general(v[0], v[1], {{2}, {0}, {1}, {2}});
  });
  expect_tensor(y, {2, 2, 2}, {1, 3, 3, 9, 4, 8, 8, 16}, 1e-5);
}

TEST(DotGeneral, ErrorsNameTheDims) {
  Graph graph;
  const Value a = graph.input("a", f32({2, 3})), b = graph.input("b", f32({2, 3}));
  EXPECT_EQ(error_of([&] {
              dot_general(a, b, {{1}, {0}});
            }),
            "dot_general: dim 1 of f32[2, 3] and dim 0 of f32[2, 3] differ: 3 and 2");
  EXPECT_EQ(error_of([&] {
              dot_general(a, b, {{1}, {1}, {1}, {0}});
            }),
            "dot_general: dim 1 of f32[2, 3] is named twice");
}

TEST(QkvLinear, PartsTheColumns) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 2})), w = graph.input("w", f32({2, 8}));
  const Qkv y = qkv_linear(x, w, {}, 4, 3, 1);
  EXPECT_EQ(y.q.shape().back(), Dim(4));
  EXPECT_EQ(y.k.shape().back(), Dim(3));
  EXPECT_EQ(y.v.shape().back(), Dim(1));
  EXPECT_EQ(error_of([&] { qkv_linear(x, w, {}, 4, 4, 4); }),
            "qkv_linear: widths 4, 4 and 4 do not part the 8 columns of w f32[2, 8]");
}

TEST(GroupedMatmul, EachRowHasItsExpert) {
  const Tensor x = numbered({3, 1}), w = Tensor::of(DType::f32, {2, 1, 2}, {1, 10, 100, 1000});
  const auto product = [&](std::initializer_list<double> experts) {
    return result_of({x, w, Tensor::of(DType::i32, {3}, experts)},
                     [](const Values& v) { return grouped_matmul(v[0], v[1], v[2]); });
  };
  expect_tensor(product({1, 0, 1}), {3, 2}, {100, 1000, 2, 20, 300, 3000}, 1e-5);
  const std::string error = error_of([&] { product({1, 2, 0}); });
  EXPECT_EQ(error.find("grouped_matmul: expert 2 of row 1 is out of range for w f32[2, 1, 2] (2)"),
            0u)
      << error;
}

TEST(DenseSolve, ExchangesRows) {
  const Tensor a = Tensor::of(DType::f32, {2, 2}, {0, 2, 3, 1});
  const auto solved = [&](const Tensor& b) {
    return result_of({a, b}, [](const Values& v) { return dense_solve(v[0], v[1]); });
  };
  expect_tensor(solved(Tensor::of(DType::f32, {2}, {4, 5})), {2}, {1, 2}, 1e-5);
  expect_tensor(solved(Tensor::of(DType::f32, {2, 2}, {4, 2, 5, 4})), {2, 2}, {1, 1, 2, 1}, 1e-5);
}

TEST(DenseSolve, ASingularMatrixIsAnError) {
  const Tensor a = Tensor::of(DType::f32, {2, 2}, {1, 2, 2, 4});
  const std::string error = error_of([&] {
    result_of({a, numbered({2})}, [](const Values& v) { return dense_solve(v[0], v[1]); });
  });
  EXPECT_NE(error.find("dense_solve: matrix 0 of a f32[2, 2] is singular"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace rlx
