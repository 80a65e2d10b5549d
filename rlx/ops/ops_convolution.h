// Convolutions.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

struct QuantisedOperand;  // of ops_integer.h

// Windows over 1, 2 or 3 spatial dims. Empty lists are ones, or no pads; pads are before each dim,
// then after each: top, left, bottom, right. auto_pad is same_upper, same_lower or valid.
struct ConvOptions {
  Ints strides = {}, dilations = {}, pads = {};
  int64_t groups = 1;
  std::string activation = "";
  std::string auto_pad = "";
};
// x [B, C, spatial..], w [O, C / groups, window..], bias [O].
Value conv(Value x, Value w, Value bias = {}, const ConvOptions& options = {});
Value conv2d(Value x, Value w, Value bias = {}, const ConvOptions& options = {});
// Bytes times bytes to i32, less their zero points: one of x, one of w or one per output channel.
Value conv_integer(Value x, Value w, Value x_zero = {}, Value w_zero = {},
                   const ConvOptions& options = {});
// bias is i32, in units of both scales.
Value qlinear_conv(const QuantisedOperand& x, const QuantisedOperand& w, Value y_scale,
                   Value y_zero, Value bias = {}, const ConvOptions& options = {});
struct ConvTransposeOptions {
  Ints strides = {}, dilations = {}, pads = {};
  Ints output_padding = {};  // at the end of each dim
  Ints output_shape = {};    // its spatial dims; the pads then follow
  int64_t groups = 1;
  std::string activation = "";
  std::string auto_pad = "";
};
// x [B, C, spatial..], w [C, O / groups, window..], bias [O].
Value conv_transpose(Value x, Value w, Value bias = {}, const ConvTransposeOptions& options = {});

}  // namespace rlx
