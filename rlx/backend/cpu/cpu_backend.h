// The CPU as a device: every step is a host step, run by a fast implementation where there is one,
// else by the op's reference.
#pragma once

#include "rlx/backend/backend.h"

namespace rlx {

std::shared_ptr<Backend> make_cpu_backend();

}  // namespace rlx
