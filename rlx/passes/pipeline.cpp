#include "rlx/passes/passes.h"

namespace rlx {

std::vector<const Pass*> pass_pipeline() {
  return {&dead_code,        &fold_constants, &known_shapes,
          &merge_transposes, &common_values,  &dead_code};
}

Graph run_passes(const Graph& graph) {
  Graph current = graph.clone();
  for (const Pass* pass : pass_pipeline()) current = pass->run(current);
  return current;
}

}  // namespace rlx
