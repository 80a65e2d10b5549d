// What fills or rearranges elements by where they are: copies, ranges, triangles, one-hot rows,
// blocks written into a tensor, and the turning of pairs.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

// The elements of operand 0 row after row.
std::unique_ptr<image::CallKernel> copy_kernel(CpuEnginePtr engine);
// The extents of operand 0, or how many elements it has.
std::unique_ptr<image::CallKernel> extents_kernel(CpuEnginePtr engine);
// first, beyond, step: as numbers, else as operands.
std::unique_ptr<image::CallKernel> range_kernel(CpuEnginePtr engine, Dims bounds);
// k is an operand where there is one.
std::unique_ptr<image::CallKernel> triangle_kernel(CpuEnginePtr engine, bool upper, int64_t k);
// Operands are indices, and perhaps depth and [off, on].
std::unique_ptr<image::CallKernel> one_hot_kernel(CpuEnginePtr engine, int64_t axis);
// Operands are x, update and where the update begins. Where the result has the memory of x, only
// the block is touched.
std::unique_ptr<image::CallKernel> write_slice_kernel(CpuEnginePtr engine);
// Operands are x, cosines and sines.
struct RopeOptions {
  bool interleaved = false, heads_inside = false;
};
std::unique_ptr<image::CallKernel> rope_kernel(CpuEnginePtr engine, RopeOptions options);

}  // namespace rlx::detail
