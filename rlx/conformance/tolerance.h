// How far a result may be from the reference: one computed bound for every op, dtype and device.
#pragma once

#include <optional>
#include <string>

#include "rlx/ir/op_def.h"

namespace rlx {

struct Tolerance {
  double ulps = 4;    // of one operation
  int64_t terms = 1;  // how many roundings a result accumulates
  double slack = 1;
  double absolute = 0;  // what the op may be off by whatever the size of its result
};

// ulps * slack * eps(f32) * sqrt(terms), of the element or (for sums) of the tensor's largest, and
// one rounding step of a 16-bit dtype. Integers and bools have none.
double allowed_error(const Tolerance& tolerance, DType dtype, double reference, double largest);

struct Mismatch {
  int64_t at = 0;  // element; -1: the types differ
  double got = 0, want = 0, error = 0, allowed = 0;
  int64_t count = 0;  // how many elements are wrong

  std::string message() const;
};

// The element furthest beyond its tolerance, or none. NaN equals NaN and an infinity itself. An
// element may also agree with `otherwise`, another reference of the same type.
std::optional<Mismatch> compare(const Tensor& got, const Tensor& want, const Tolerance& tolerance,
                                const Tensor* otherwise = nullptr);

}  // namespace rlx
