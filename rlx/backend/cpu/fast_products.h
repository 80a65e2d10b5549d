// Products of f32 matrices, whose right operand is packed once where it is a weight.
#pragma once

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

struct ProductOptions {
  bool transpose_a = false, transpose_b = false;
  bool keeps_b = false;  // it is the same in every run, or told apart by its mark
  // Applied to what is finished; null: nothing.
  vector::Elementwise::Function vector::Elementwise::*activation = nullptr;
};
// Operands are a, b, and perhaps a bias of b's columns; batch dims broadcast.
std::unique_ptr<image::CallKernel> product_kernel(CpuEnginePtr engine, ProductOptions options);

// Is the value of an operand computed once or given, rather than made by each run?
bool is_kept(const image::Call& call, size_t input, const image::Image& image);

}  // namespace rlx::detail
