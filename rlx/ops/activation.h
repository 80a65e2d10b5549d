// Activations that linear and conv apply to what they have summed: the rows of
// elementwise_activations.cpp by name, with their default parameters.
#pragma once

#include <string>
#include <vector>

#include "rlx/ir/graph.h"
#include "rlx/lower/step.h"

namespace rlx {

Strings activation_names();
// An Error unless the name is empty, which is none, or one that can be fused.
void require_activation(std::string_view op, const std::string& name);

double activated(double x, const std::string& name);

// WGSL: fn activation(x: f32) -> f32, and what it calls.
std::string activation_function(const std::string& name);
std::vector<KernelText> activation_includes(const std::string& name);

// dz of y = activation(z).
Value activation_gradient(Value z, Value dy, const std::string& name);

}  // namespace rlx
