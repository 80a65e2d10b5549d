// The CPU as a device: it runs calls, in memory that is laid out when a run is bound.
#pragma once

#include <memory>

#include "rlx/backend/backend.h"

namespace rlx::detail {

std::shared_ptr<Backend> make_cpu_backend();

}  // namespace rlx::detail
