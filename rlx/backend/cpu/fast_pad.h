// pad of any dtype: rows are copied, and what is beside them filled or seen again.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct PadOptions {
  enum class Mode : uint8_t { constant, reflect, edge, wrap };
  Mode mode = Mode::constant;
  Dims pads = {};                  // before each axis, then after; else they are an operand
  std::vector<int64_t> axes = {};  // empty: all
  double value = 0;
};
// Operands are x, and perhaps pads and the value.
std::unique_ptr<image::CallKernel> pad_kernel(CpuEnginePtr engine, PadOptions options);

}  // namespace rlx::detail
