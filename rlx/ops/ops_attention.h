// Attention.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

struct AttentionOptions {
  int64_t heads = 1;               // of q, where heads lie side by side in one dim
  int64_t kv_heads = 0;            // of k and v; 0: as many as q
  std::string layout = "bhsd";     // of 4-dim operands: bhsd, bshd
  bool causal = false;             // query i sees keys up to i + (S_k - S_q)
  int64_t window = -1;             // and from that less `window` on; -1: from the first
  double scale = 0;                // 0: 1 / sqrt(D)
  double softcap = 0;              // 0: none
  std::string empty_row = "zero";  // of a row with every key masked, and no sink: zero, nan
};
// q [B, H, S_q, D], k [B, H_kv, S_k, D], v [B, H_kv, S_k, D_v], or all [B, S, H, D], or all
// [B, S, H * D]; the result is laid out like q. `bias`, added to the scores, broadcasts to
// [B, H, S_q, S_k], and may be a bool mask (true: keep); `mask` is one beside a bias. `sink` [H] is
// one more score of each head, which is neither scaled nor capped nor masked: it takes its share of
// the softmax and gives no value, so that a row with every key masked is zero. -inf is no sink.
Value attention(Value q, Value k, Value v, Value bias = {}, const AttentionOptions& options = {},
                Value mask = {}, Value sink = {});
// The same of qkv [B, S, 3, H, D], read in place; the result is [B, S, H, D].
Value packed_attention(Value qkv, Value bias = {}, AttentionOptions options = {}, Value mask = {});
// Which keys causal attention over scores [.., S_q, S_k] sees, as bool[S_q, S_k].
Value causal_mask(Value scores, int64_t window = -1);

}  // namespace rlx
