// What the tests of ops share.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "rlx/ir/evaluate.h"
#include "rlx/testing.h"

namespace rlx {

using Numbers = std::vector<double>;

// first, first + 1, ...
inline Tensor numbered(Shape shape, double first = 1) {
  Tensor tensor(DType::f32, std::move(shape));
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, first + static_cast<double>(i));
  return tensor;
}

inline Numbers elements(const Tensor& tensor) {
  Numbers numbers;
  for (int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.at(i));
  return numbers;
}

// What `build` makes of constants.
template <class Build>
Tensor result_of(const std::vector<Tensor>& operands, Build build) {
  Graph graph;
  Values values;
  for (const Tensor& operand : operands) values.push_back(graph.constant(operand));
  graph.output("y", build(values));
  return evaluate(graph, {}).outputs.at("y");
}

template <class Build>
Numbers elements(const std::vector<Tensor>& operands, Build build) {
  return elements(result_of(operands, build));
}

inline void expect_tensor(const Tensor& got, const Shape& shape, const Numbers& wanted,
                          double tolerance = 0) {
  EXPECT_EQ(got.shape(), shape);
  ASSERT_EQ(got.count(), static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.at(static_cast<int64_t>(i)), wanted[i], tolerance) << "element " << i;
}

}  // namespace rlx
