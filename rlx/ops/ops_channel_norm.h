// Norms of x [B, C, ...] by channels.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// Of x [B, C, ...]; gamma and beta [C] may be absent. The channels in `groups` parts; 0: each for
// itself, which is instance_norm.
Value group_norm(Value x, Value gamma, Value beta, int64_t groups, double epsilon = 1e-5);
Value instance_norm(Value x, Value gamma, Value beta, double epsilon = 1e-5);
// With the statistics of each channel, [C], given.
Value batch_norm(Value x, Value gamma, Value beta, Value mean, Value variance,
                 double epsilon = 1e-5);
// With those of the batch; running is momentum * running + (1 - momentum) * batch.
struct BatchNorm {
  Value y, mean, variance, running_mean, running_variance;
};
BatchNorm batch_norm_training(Value x, Value gamma, Value beta, Value running_mean,
                              Value running_variance, double epsilon = 1e-5, double momentum = 0.9);
// x / (bias + alpha / size * s)^beta, where s sums x^2 over `size` neighbouring channels.
Value lrn(Value x, int64_t size, double alpha = 1e-4, double beta = 0.75, double bias = 1);

}  // namespace rlx
