// Tests of single numbers and ops on bits, beside the comparisons of ops_core.h. Operands
// broadcast.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

Value is_nan(Value x);
Value is_inf(Value x, bool positive = true, bool negative = true);
Value logical_xor(Value x, Value y);
Value bitwise_not(Value x);
Value bitwise_and(Value x, Value y);
Value bitwise_or(Value x, Value y);
Value bitwise_xor(Value x, Value y);
Value shift_left(Value x, Value bits);
Value shift_right(Value x, Value bits);  // signed integers keep their sign

}  // namespace rlx
