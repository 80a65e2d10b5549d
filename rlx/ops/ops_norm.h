// Norms over the trailing axes.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// Over the trailing axes from `axis` on; gamma and beta may be absent.
Value layer_norm(Value x, Value gamma, Value beta, int64_t axis = -1, double epsilon = 1e-5);
Value rms_norm(Value x, Value gamma, int64_t axis = -1, double epsilon = 1e-6);

}  // namespace rlx
