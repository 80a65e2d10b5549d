// Functions of single numbers, beside those of ops_core.h. Operands broadcast.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

Value log1p(Value x);
Value expm1(Value x);
Value reciprocal(Value x);
Value erf(Value x);
Value tan(Value x);
Value asin(Value x);
Value acos(Value x);
Value atan(Value x);
Value atan2(Value y, Value x);
Value sinh(Value x);
Value cosh(Value x);
Value asinh(Value x);
Value acosh(Value x);
Value atanh(Value x);
Value mod(Value x, Value y);   // with the sign of y
Value fmod(Value x, Value y);  // with the sign of x

}  // namespace rlx
