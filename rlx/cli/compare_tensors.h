// How far two tensors of the same type are apart.
#pragma once

#include "rlx/tensor/tensor.h"

namespace rlx::cli {

struct Difference {
  int64_t at = -1;  // the element that is farthest off; -1: the tensors are equal
  double absolute = 0;
  double relative = 0;   // to the tensors' largest magnitude, so that a zero is no special case
  double tolerance = 0;  // what `relative` may be
  bool within() const { return relative <= tolerance; }
};

// How far results of devices may be apart, relative to the largest magnitude: they round sums in
// other orders. Integers and bools are exact.
double default_tolerance(DType dtype);

// A NaN equals a NaN, an infinity one of its sign; to anything else they are infinitely far. A
// negative tolerance asks for the default.
Difference compare_tensors(const Tensor& a, const Tensor& b, double tolerance = -1);

}  // namespace rlx::cli
