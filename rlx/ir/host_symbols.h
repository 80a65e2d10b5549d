// Elements of integer tensors as dims.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx {

// Gives the elements of a small integer tensor symbols of their own, which a run will bind. A
// larger one, or one of an extent that is not known, has none.
void make_symbols(Value value);

}  // namespace rlx
