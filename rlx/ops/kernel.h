// What op files share: kernels by file name, axes, rows.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "rlx/lower/site.h"
#include "rlx/ops/lib/library.h"

namespace rlx {

// ops/<name>.wgsl with what it includes of ops/lib.
Kernel kernel(std::string_view name, std::initializer_list<std::string_view> includes = {});

// Counts a negative axis from the end and checks its range.
size_t axis_of(std::string_view op, int64_t axis, const TensorType& type);
// The same for an op's attribute "axis", an axis of operand 0.
size_t axis_of(const InferSite& site);
size_t axis_of(const ReferenceSite& site);
size_t axis_of(const LowerSite& site);
size_t axis_of(const GradientSite& site);

// A tensor seen as rows along one axis: element i of row r is at start(r) + i * stride, where
// start(r) = r / stride * stride * length + r % stride.
struct Rows {
  Dim count = 1, length = 1, stride = 1;
  Rows(const Dims& shape, size_t axis);
};
struct ConcreteRows {
  int64_t count = 1, length = 1, stride = 1;
  ConcreteRows(const Shape& shape, size_t axis);
  int64_t at(int64_t row, int64_t i) const {
    return row / stride * stride * length + row % stride + i * stride;
  }
};

}  // namespace rlx
