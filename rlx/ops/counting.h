// Numbers from 0 on, for expressions that compare places with each other.
#pragma once

#include "rlx/ops/ops.h"
#include "rlx/ops/views.h"

namespace rlx {

// 0, 1, .. count - 1 as i64: where equal elements go in a stable sort.
inline Value counting(Value like, const Dim& count) { return sort(zeros(like, {count})).indices; }

}  // namespace rlx
