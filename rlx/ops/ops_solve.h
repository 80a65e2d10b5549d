// Linear equations.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// The x of a . x = b, a [.., N, N] and b [.., N] or [.., N, K].
Value dense_solve(Value a, Value b);
Value det(Value a);  // the determinants of a [.., N, N]

}  // namespace rlx
