// Products of f32 matrices, whose right operand is packed once where it is a weight.
#pragma once

#include "rlx/backend/cpu/tile_program.h"

namespace rlx::detail {

struct ProductOptions {
  bool transpose_a = false, transpose_b = false;
  bool keeps_b = false;  // it is the same in every run, or told apart by its mark
  bool has_bias = false;
};
// Operands are a, b, and a bias of b's columns where there is one; batch dims broadcast.
// A tile finishes blocks of the result while they are in the cache; null: there is none.
std::unique_ptr<image::CallKernel> product_kernel(CpuEnginePtr engine, ProductOptions options,
                                                  std::unique_ptr<TileProgram> tile = nullptr);

// Has the op of the call such an operand? Behind its own are those of its tile.
bool has_own(const image::Call& call, size_t input);

// Is the value of an operand computed once or given, rather than made by each run?
bool is_kept(const image::Call& call, size_t input, const image::Image& image);

}  // namespace rlx::detail
