// gated_delta_net: blocks of columns of each head's state, many steps by chunks, few one by one.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

std::unique_ptr<image::CallKernel> gated_delta_net_kernel(CpuEnginePtr engine, double scale);

}  // namespace rlx::detail
