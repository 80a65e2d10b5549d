// What depends on the order of a row: its extreme, its first elements in order, its running sums.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct ExtremeOptions {
  int64_t axis = 0;
  bool highest = true, last = false;  // last: of equals
};
std::unique_ptr<image::CallKernel> extreme_kernel(CpuEnginePtr engine, ExtremeOptions options);

// Results are values and indices of as many as they have room for.
struct OrderOptions {
  int64_t axis = -1;
  bool descending = false;
};
std::unique_ptr<image::CallKernel> order_kernel(CpuEnginePtr engine, OrderOptions options);

struct ScanOptions {
  int64_t axis = 0;
  bool multiplies = false, exclusive = false, reverse = false;
};
std::unique_ptr<image::CallKernel> scan_kernel(CpuEnginePtr engine, ScanOptions options);

}  // namespace rlx::detail
