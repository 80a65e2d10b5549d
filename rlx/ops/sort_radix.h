// Long rows sorted by the digits of their keys, in several dispatches.
#pragma once

#include <string>

#include "rlx/ops/kernel.h"
#include "rlx/ops/sorting.h"

namespace rlx {

// `key` is the WGSL of sort_key(v), by which elements of x are ordered. With many lanes each has a
// short tile.
SortedKeys sort_by_digits(const LowerSite& site, const Operand& x, const Rows& rows,
                          const std::string& key, bool many_lanes);

}  // namespace rlx
