// Products with weights in blocks of few bits, and rows of them: docs/quantised-weights.md has the
// formats.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// x[.., K] times w, u8[N, bytes of K elements]: the rows of w as encode_blocks or a GGUF file has
// them. `block` is how many elements share a scale in the formats int*_block; 0 is 32.
Value quantised_matmul(Value x, Value w, const std::string& format, int64_t block = 0);
// The same with an adapter beside it: x . w + scale * (x . a) . b, a [K, rank] and b [rank, N].
struct LoraOptions {
  double scale = 1;
  int64_t block = 0;
};
Value lora_matmul(Value x, Value w, Value a, Value b, const std::string& format,
                  const LoraOptions& options = {});
// The same for experts: w u8[E, N, bytes of K elements], row i is x[i] times w[expert[i]].
Value grouped_matmul(Value x, Value w, Value expert, const std::string& format, int64_t block = 0);
// Rows of w as f32: [indices.., K].
Value quantised_gather(Value w, Value indices, const std::string& format, int64_t block = 0);

}  // namespace rlx
