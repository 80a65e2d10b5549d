// Groups of ops that one kernel computes.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// What a body computes of the inputs, as one kernel where a device can: ops on single elements, and
// at most one other op, whose result they finish.
Values fused(const Values& inputs, Graph body);

}  // namespace rlx
