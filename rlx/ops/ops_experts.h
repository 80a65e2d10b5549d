// Mixtures of experts: gates that choose, and layers that sum what the chosen ones give.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

struct Gate {
  Value indices,
      weights;  // [T, k]: the experts of each token, the best first, and how much each counts
};
// The best k of softmax(logits), logits [T, E]; their weights sum to 1 where they are normalised.
Gate softmax_gate(Value logits, int64_t k, bool normalise = true);

// A group of experts is as good as the sum of its two best routing scores: the best groups are
// kept, and of their experts the best k. Weights are those of `scores` (sigmoids, usually),
// normalised (all of 0 stay 0) and scaled; `routing` is what is compared (the scores with a bias
// that balances experts). Both are [T, E].
struct GroupLimits {
  int64_t groups = 1, kept_groups = 1, k = 1;
  bool normalise = true;
  double scale = 1;
};
Gate group_limited_gate(Value scores, Value routing, const GroupLimits& limits);

// What each expert computes: down(silu(gate(x)) * up(x)), or without `gate` down(silu(up(x))).
// Weights are [E, K, N], or in blocks (see ops_blocks.h) u8[E, N, bytes of K elements].
struct ExpertWeights {
  Value gate = {}, up, down;
  std::string format = {};  // empty: floats
  int64_t block = 0;
};
// x [T, K]: for each token the sum of its experts' results by their weights. Tokens are sorted by
// expert, so that each expert's weights are read for a range of rows.
Value mixture_of_experts(Value x, const Gate& gate, const ExpertWeights& experts);

}  // namespace rlx
