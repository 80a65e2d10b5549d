// softmax(scale q . k^T + bias) . v of one head, over the keys that are seen.
#pragma once

#include <limits>

#include "rlx/vector/gemm.h"

namespace rlx::vector {

// Elements of a row lie side by side; rows have steps. All of f32.
struct AttentionHead {
  int64_t queries = 0, keys = 0, size = 0, value_size = 0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  float* y = nullptr;
  int64_t q_row = 0, k_row = 0, v_row = 0, y_row = 0;
  float scale = 1;
  float softcap = 0;  // above 0: s becomes softcap * tanh(s / softcap)
  // Added to the scores, where it is there; and 0 where a key is not seen.
  const float* bias = nullptr;
  int64_t bias_row = 0, bias_column = 0;
  const uint8_t* mask = nullptr;
  int64_t mask_row = 0, mask_column = 0;
  // The last query is at the last key's position. Causal: none sees a key behind its own; with a
  // window, none that is more than so many before it.
  bool is_causal = false;
  int64_t window = -1;  // -1: none
  // One more score of every row, which gives no value; of minus infinity there is none.
  float sink = -std::numeric_limits<float>::infinity();
  float empty = 0;  // what a query gets that sees no key, without a sink

  Range seen_by(int64_t query) const {
    const int64_t position = query + keys - queries;
    const auto clamp = [](int64_t x, int64_t high) { return x < 0 ? 0 : x > high ? high : x; };
    const int64_t end = is_causal || window >= 0 ? clamp(position + 1, keys) : keys;
    return {window >= 0 ? clamp(position - window, end) : 0, end};
  }
};

struct Attention {
  // Queries that are taken together: parts of them for several threads begin at a multiple.
  int64_t together;
  // Many queries: k and v are packed once for all heads that share them. False: v has a number that
  // is not finite, and 0 times it is not 0: then `few` must be taken.
  int64_t (*packed_size)(const AttentionHead& head);  // in floats
  bool (*pack)(const AttentionHead& head, float* packed);
  int64_t (*scratch_size)(const AttentionHead& head);  // in floats, for one call at a time
  void (*many)(const AttentionHead& head, const float* packed, Range queries, float* scratch);
  // Few queries, as in decoding: k and v are read as they lie. The scratch is `keys` floats.
  void (*few)(const AttentionHead& head, Range queries, float* scratch);
};
Attention attention(Isa isa);

}  // namespace rlx::vector
