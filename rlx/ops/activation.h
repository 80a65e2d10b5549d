// Activations that the functions of linear and conv add behind them: the rows of
// elementwise_activations.cpp by name, with their default parameters.
#pragma once

#include <string>
#include <string_view>

#include "rlx/ir/graph.h"

namespace rlx {

Strings activation_names();
// An Error unless the name is empty, which is none, or one of these.
void require_activation(std::string_view op, const std::string& name);

// What stands for activation(x); x where the name is empty.
Value with_activation(std::string_view op, Value x, const std::string& name);

}  // namespace rlx
