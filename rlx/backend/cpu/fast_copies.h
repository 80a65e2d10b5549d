// What only moves elements, of any dtype: copies of views, gather, concat.
#pragma once

#include "rlx/backend/cpu/behind.h"
#include "rlx/vector/copy.h"

namespace rlx::detail {

// Strides in elements. Made once, run often.
vector::Copy make_copy(const Shape& shape, const Shape& from, const Shape& to, DType dtype);
void run_copy(const CpuEngine& engine, const vector::Copy& copy, const std::byte* from,
              std::byte* to);

// Operands are x and indices: rows of x along the axis. What is out of range is handed on.
std::unique_ptr<image::CallKernel> gather_kernel(CpuEnginePtr engine, int64_t axis, Behind behind);
// The parts one after another along the axis.
std::unique_ptr<image::CallKernel> concat_kernel(CpuEnginePtr engine, int64_t axis);

}  // namespace rlx::detail
