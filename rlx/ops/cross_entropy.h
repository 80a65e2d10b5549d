// The loss of each row of logits, or of log-probabilities, whose label is a class.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx {

// Along `axis` of x; labels are integers of its shape without that axis. log_sum_exp(x) - x[label]
// of logits, -x[label] of log-probabilities.
Value cross_entropy(Value x, Value labels, int64_t axis, bool logits);

}  // namespace rlx
