// Values that positions decide: ranges, triangles, unit matrices. See also range in ops_core.h.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

Value float_range(Value start, Value limit, Value delta);  // floats that only the run knows
Value trilu(Value x, bool upper = true, int64_t k = 0);    // zeros on the other side of a diagonal
Value trilu(Value x, bool upper, Value k);
Value eye_like(Value x, DType dtype, int64_t k = 0);

}  // namespace rlx
