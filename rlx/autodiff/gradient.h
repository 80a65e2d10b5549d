// Reverse-mode gradients, built as more of the same graph.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// d sum(y * seed) / dx for each x, as values of y's graph; `seed` absent means ones. An x that y
// does not depend on gets zeros. An op without a rule is an Error that says why.
Values gradient(Value y, const Values& xs, Value seed = {});
// The same of the sum over several outputs, in one sweep: d sum_i sum(ys[i] * seeds[i]) / dx. No
// seeds at all, or an absent one, mean ones.
Values gradient(const Values& ys, const Values& xs, const Values& seeds = {});

}  // namespace rlx
