// Quantisation of floats to bytes, and back.
#pragma once

#include <cstdint>

#include "rlx/ir/value.h"

namespace rlx {

// Quantisation: round(x / scale) + zero_point, saturated, and back. The zero point may be absent.
// `scale` has one element, or one for each index of `axis`, or (block > 0) one for each block of
// indices along it. Gradients are straight through where quantise does not saturate, and none where
// it does: both together have those of fake_quantise.
struct QuantiseOptions {
  DType to = DType::u8;  // where no zero point tells
  int64_t axis = 1;
  int64_t block = 0;
};
Value quantise(Value x, Value scale, Value zero_point = {}, const QuantiseOptions& options = {});
Value dequantise(Value x, Value scale, Value zero_point = {}, const QuantiseOptions& options = {});
struct DynamicallyQuantised {
  Value y, scale, zero_point;
};
DynamicallyQuantised dynamic_quantise(Value x);  // to u8, by the range of x and 0
}  // namespace rlx
