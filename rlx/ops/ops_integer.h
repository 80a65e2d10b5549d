// Products of bytes.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// Bytes times bytes to i32, each less its zero point: one for all, or one per row of a (column of
// b).
Value matmul_integer(Value a, Value b, Value a_zero = {}, Value b_zero = {});
// Bytes that stand for (value - zero) * scale; scale and zero one for all, or one per row of a
// matrix, per column of a second one, per output channel of conv's weights.
struct QuantisedOperand {
  Value values, scale, zero;
};
Value qlinear_matmul(const QuantisedOperand& a, const QuantisedOperand& b, Value y_scale,
                     Value y_zero);
// Sums of a product as bytes again: round((sums + bias) * scale) + zero, clamped to zero's dtype.
Value requantise(Value sums, Value scale, Value zero, Value bias = {});

}  // namespace rlx
