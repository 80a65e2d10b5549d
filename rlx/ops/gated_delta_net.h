// What gated_delta_net and its gradient share.
#pragma once

#include "rlx/ir/op_def.h"

namespace rlx {

enum DeltaOperand : size_t { kDeltaQ, kDeltaK, kDeltaV, kDeltaG, kDeltaBeta, kDeltaState };

// Steps whose products with each other are computed at once.
constexpr int64_t kDeltaChunk = 16;

double delta_scale(const Attrs& attrs, int64_t keys);
Gradients gated_delta_net_gradient(const GradientSite& site);

}  // namespace rlx
