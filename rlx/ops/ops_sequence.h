// State-space and linear-attention layers. Each takes the state that an earlier call ended with, so
// that a sequence may come whole, in parts, or step by step.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

struct SelectiveScanOptions {
  Value skip = {};              // D [channels]: y += D * x
  Value gate = {};              // z, like x: y *= silu(z)
  Value delta_bias = {};        // [channels], added to delta
  bool delta_softplus = false;  // delta = softplus(delta + delta_bias)
  Value state = {};             // [batches, channels, states]; zeros where it is not given
};
// Mamba's scan: h = exp(delta * a) * h + delta * b * x, y = sum of c * h over the states. x and
// delta are [batches, steps, channels], a is [channels, states], b and c are [batches, steps,
// states], or [batches, steps, groups, states] with a group for that many neighbouring channels.
// The results are y, and the state behind the last step.
Values selective_scan(Value x, Value delta, Value a, Value b, Value c,
                      const SelectiveScanOptions& options = {});

struct GatedDeltaNetOptions {
  Value state = {};  // [batches, heads, keys, values]; zeros where it is not given
  double scale = 0;  // of the queries; 0: 1 / sqrt(keys)
};
// The gated delta rule, for each head: S = exp(g) * S, d = (v - S^T k) * beta, S = S + k d^T,
// o = S^T q * scale. q and k are [batches, steps, heads, keys], v is [batches, steps, heads,
// values], g and beta are [batches, steps, heads]. Where q and k have fewer heads, each serves that
// many neighbouring heads of v. The results are o, like v, and the state behind the last step.
Values gated_delta_net(Value q, Value k, Value v, Value g, Value beta,
                       const GatedDeltaNetOptions& options = {});

struct CausalConv1dOptions {
  Value bias = {};              // [channels]
  Value state = {};             // [batches, taps - 1, channels]: the rows before x
  std::string activation = "";  // silu, or another on single elements; empty: none
};
// Each channel by itself, from the steps so far: y[t] = bias + sum over j of w[j] * x[t + j - taps
// + 1]. x is [batches, steps, channels], w is [channels, taps]. The results are y, like x, and the
// last taps - 1 rows, for the call that goes on.
Values causal_conv1d(Value x, Value w, const CausalConv1dOptions& options = {});

}  // namespace rlx
