// The CPU as a device: it runs calls, in memory that is laid out when a run is bound.
#pragma once

#include <memory>

#include "rlx/backend/backend.h"

namespace rlx::detail {

struct CpuOptions {
  int threads = 0;                              // 0: one for each core
  std::shared_ptr<const Backend> of = nullptr;  // a CPU whose packed weights and results it shares
};
std::shared_ptr<Backend> make_cpu_backend(CpuOptions options = {});

}  // namespace rlx::detail
