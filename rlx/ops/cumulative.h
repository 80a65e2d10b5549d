// Sums along rows for ops that count before they place.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// sums[row][i] = counts[row][0] + .. + counts[row][i - 1], of u32; the largest where that is more.
Steps exclusive_sums(const LowerSite& site, const Operand& counts, const Operand& sums,
                     const Dim& rows, const Dim& length);

}  // namespace rlx
