// Reductions over any axes, beside sum, mean and the extremes of ops_core.h; none given means all.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// Kept axes have length 1. l1 and l2 have the gradient 0 at 0.
Value prod(Value x, const Ints& axes = {}, bool keep = false);
Value l1(Value x, const Ints& axes = {}, bool keep = false);          // sum |x|
Value l2(Value x, const Ints& axes = {}, bool keep = false);          // sqrt(sum x^2)
Value log_sum(Value x, const Ints& axes = {}, bool keep = false);     // log(sum x)
Value logsumexp(Value x, const Ints& axes = {}, bool keep = false);   // log(sum exp(x))
Value reduce_any(Value x, const Ints& axes = {}, bool keep = false);  // of bools
Value reduce_all(Value x, const Ints& axes = {}, bool keep = false);

}  // namespace rlx
