// The passes, and the order they run in.
#pragma once

#include <vector>

#include "rlx/passes/pass.h"

namespace rlx {

extern const Pass dead_code;
extern const Pass fold_constants;
extern const Pass known_shapes;
extern const Pass common_values;
extern const Pass merge_transposes;

// In order; pipeline.cpp is the list, and only that.
std::vector<const Pass*> pass_pipeline();
Graph run_passes(const Graph& graph);

}  // namespace rlx
