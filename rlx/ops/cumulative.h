// Sums along rows for ops that count before they place.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// sums[row][i] = counts[row][0] + .. + counts[row][i - 1], of u32; the largest where that is more.
Steps exclusive_sums(const LowerSite& site, const Operand& counts, const Operand& sums,
                     const Dim& rows, const Dim& length);

// For results of which only the data tells how many elements they have: `kept` is bound to the sum
// of counts, u32[parts + 1] whose last is 0; where each part begins, and behind the last where it
// ends.
struct Counted {
  Steps steps;
  Operand starts;
};
Counted bind_total(const LowerSite& site, const Operand& counts, const Dim& parts, const Dim& kept);

}  // namespace rlx
