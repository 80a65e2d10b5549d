// Rows of groups: op_cases of several files.
#pragma once

#include <functional>

#include "rlx/conformance/op_cases.h"

namespace rlx {

using Compute = std::function<Values(const Values&)>;

// The operands go through `compute` inside a body, which stays one kernel.
Compute in_body(Compute compute);
OpCase grouped(std::vector<CaseInput> inputs, std::string why, int64_t terms, Compute compute);

std::vector<OpCase> fused_map_cases();

}  // namespace rlx
