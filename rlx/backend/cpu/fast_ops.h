// The one table of this backend that names ops: faster implementations than the references, which
// may refuse what they were not made for.
#pragma once

#include "rlx/image/call.h"

namespace rlx::detail {

// For the CPU, and for what another device leaves to the host.
image::Implementations fast_implementations();

}  // namespace rlx::detail
