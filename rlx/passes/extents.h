// What nodes ask of the extents of a run, compared.
#pragma once

#include <vector>

#include "rlx/ir/op_def.h"

namespace rlx {

// Do both lists refuse the same runs? False also where that cannot be told.
bool ask_the_same(const std::vector<DimCheck>& a, const std::vector<DimCheck>& b);

}  // namespace rlx
