// Operands that a kernel reads through strides of its own rather than through the generated index
// map.
#pragma once

#include <string>

#include "rlx/lower/site.h"

namespace rlx {

// The operand as the bare buffer under it; kernels that loop over known axes pass offset and
// strides as params, which is cheaper than finding every element from its logical index.
Operand flat(Operand operand);

// The elements from `first` to the one `extents` times `strides` further on, as a window to bind.
Operand::Window window_of(const Dim& first, const Dims& extents, const Dims& strides);

}  // namespace rlx
