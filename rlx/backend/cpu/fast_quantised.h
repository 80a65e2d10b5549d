// Numbers kept as bytes: quantise, dequantise, and products of bytes summed in i32.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

// Operands are x, scale, and perhaps a zero point; both broadcast to x. Views
// of x whose elements are apart are handed on.
std::unique_ptr<image::CallKernel> quantise_kernel(CpuEnginePtr engine);
std::unique_ptr<image::CallKernel> dequantise_kernel(CpuEnginePtr engine);
std::unique_ptr<image::CallKernel> fake_quantise_kernel(CpuEnginePtr engine, int64_t bits);

// Operands are a, b, and perhaps zero points of a's rows and of b's columns. b is packed once where
// it is kept.
std::unique_ptr<image::CallKernel> byte_product_kernel(CpuEnginePtr engine, bool keeps_b,
                                                       std::unique_ptr<TileProgram> tile);

// Convolutions of one or two spatial axes. Operands are x, w, and perhaps zero points of x and of
// w's channels; w is packed once where it is kept.
std::unique_ptr<image::CallKernel> byte_convolution_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                           bool keeps_w,
                                                           std::unique_ptr<TileProgram> tile);

// Operands are x, w as bytes in blocks along its rows, a scale for each block and perhaps a zero
// point: x times w transposed.
std::unique_ptr<image::CallKernel> byte_rows_kernel(CpuEnginePtr engine, int64_t block,
                                                    Behind behind);

// None where numbers of the dtype are not integers of up to 32 bits.
std::optional<vector::Integer> integer_of(DType dtype);

}  // namespace rlx::detail
