// Products with weights, beside matmul and linear of ops_core.h.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// x[.., K] times w[N, K] kept as i8 or u8 in blocks along K, each block with a scale and perhaps a
// zero point, of w's dtype: [N, K / block], or [1, K / block] where all rows share them.
Value quantised_matmul(Value x, Value w, Value scales, int64_t block, Value zeros = {});
// x . w + bias, its columns parted into three results of the widths given.
struct Qkv {
  Value q, k, v;
};
Qkv qkv_linear(Value x, Value w, Value bias, int64_t q_width, int64_t k_width, int64_t v_width,
               bool transpose_w = false);
// x . w + scale * (x . a) . b
Value lora_matmul(Value x, Value w, Value a, Value b, double scale = 1);
// x [M, K], w [E, K, N], expert [M]: row i is x[i] . w[expert[i]].
Value grouped_matmul(Value x, Value w, Value expert);

}  // namespace rlx
