// Rows of op_cases as JSON, for programs that compute them without rlx.
#pragma once

#include <nlohmann/json.hpp>

#include "rlx/conformance/op_cases.h"

namespace rlx::cli {

// {"op", "row", "fingerprint", "composed", "defaults", "symbols", "inputs", "graph"}: the operands
// by name, and the row as a graph of one op, or of what a composition is made of.
nlohmann::ordered_json row_json(const OpCase& row, const OpSet& ops);

}  // namespace rlx::cli
