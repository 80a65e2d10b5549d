// Attention of f32 over operands in any of the usual layouts, and views of them.
#pragma once

#include "rlx/backend/cpu/behind.h"

namespace rlx::detail {

struct AttentionOptions {
  int64_t heads = 1, kv_heads = 0;  // of operands of rank 3; 0: as many
  bool heads_inside = false;        // [B, S, H, D], else [B, H, S, D]
  bool is_causal = false, empty_is_nan = false;
  int64_t window = -1;
  double scale = 0;  // 0: 1 / sqrt(D)
  double softcap = 0;
};
// Operands are q, k, v, and perhaps a bias and a mask that broadcast to the scores, and a sink.
std::unique_ptr<image::CallKernel> attention_kernel(CpuEnginePtr engine, AttentionOptions options,
                                                    Behind behind);

}  // namespace rlx::detail
