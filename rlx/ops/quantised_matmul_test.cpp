#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_linear.h"

namespace rlx {
namespace {

std::string error_of(const TensorType& w, const TensorType& scales, int64_t block) {
  Graph graph;
  try {
    quantised_matmul(graph.input("x", f32({2, 4})), graph.input("w", w),
                     graph.input("scales", scales), block);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(QuantisedMatmul, EveryBlockHasItsScale) {
  Graph graph;
  const Tensor x = Tensor::of(DType::f32, {1, 4}, {1, 2, 3, 4});
  const Tensor w = Tensor::of(DType::i8, {2, 4}, {1, 1, 1, 1, -128, 0, 0, 127});
  const Tensor scales = Tensor::of(DType::f32, {2, 2}, {1, 10, 0.5, 2});
  graph.output("y", quantised_matmul(graph.input("x", x.type()), graph.input("w", w.type()),
                                     graph.input("scales", scales.type()), 2));
  const Tensor y = evaluate(graph, {{"x", x}, {"w", w}, {"scales", scales}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(y.at(0), 73);
  EXPECT_EQ(y.at(1), -64 + 1016);
}

TEST(QuantisedMatmul, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({3, 4}), f32({3, 2}), 2),
            "quantised_matmul: w is f32[3, 4], it needs to be i8[N, K]");
  EXPECT_EQ(error_of({DType::i8, {3, 4}}, f32({3, 2}), 0),
            "quantised_matmul: block 0 is not positive");
  EXPECT_EQ(error_of({DType::i8, {3, 4}}, f32({3, 2}), 3),
            "quantised_matmul: blocks of 3 with scales f32[3, 2] do not fill w i8[3, 4]: 6 and 4");
}

}  // namespace
}  // namespace rlx
