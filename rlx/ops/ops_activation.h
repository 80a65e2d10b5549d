// Activations, beside relu, sigmoid, tanh and gelu of ops_core.h.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// Where there is no slope, gradients are those PyTorch has: hard_sigmoid has 0 at its kinks,
// hard_swish 0 at -3 and 1 at 3, leaky_relu, prelu and elu at 0 that of the negative side.
Value leaky_relu(Value x, double alpha = 0.01);
Value prelu(Value x, Value slope);
Value elu(Value x, double alpha = 1.0);
Value selu(Value x, double alpha = 1.6732632423543772, double gamma = 1.0507009873554805);
Value celu(Value x, double alpha = 1.0);
Value hard_sigmoid(Value x, double alpha = 0.2, double beta = 0.5);
Value silu(Value x);
Value hard_swish(Value x);
Value mish(Value x);
Value softplus(Value x);
Value softsign(Value x);
Value gelu_tanh(Value x);  // its tanh approximation
Value thresholded_relu(Value x, double alpha = 1.0);

// The activations that linear and conv take by name, each with the parameters it has by default.
Value activate(Value x, const std::string& activation);

}  // namespace rlx
