// Ops on single elements as calls: loops over strided operands, without memory of their own.
#pragma once

#include "rlx/image/call.h"
#include "rlx/ir/op_def.h"

namespace rlx {

// For an op that has a scalar form.
image::Implementation scalar_loops(const OpRef& op);

}  // namespace rlx
