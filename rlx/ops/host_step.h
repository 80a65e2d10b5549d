// A node that its dtype keeps from the device, as a step on the host.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// For integers that a device keeps in 32 bits, which the op's results may leave.
Host wide_integers_on_host(const LowerSite& site);
inline bool is_wide_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

}  // namespace rlx
