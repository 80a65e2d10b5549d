// An op on single elements as a WGSL expression: what generated kernels are put together from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/lower/site.h"

namespace rlx {

struct ScalarFormula {
  std::string expression;          // over x, y, z and its params, by their names
  std::vector<Param> params = {};  // attributes
  std::vector<KernelText> includes = {};
};

// None where the node is no op on single elements, or has no expression for its dtype.
std::optional<ScalarFormula> scalar_formula(const Node& node);

// Why an op on single elements cannot run on a device; empty when it can, or is none.
std::string scalar_host_reason(const Node& node);

}  // namespace rlx
