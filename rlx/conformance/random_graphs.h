// Random graphs for differential tests: of any ops, with shapes that are odd, empty or symbolic.
#pragma once

#include <string>

#include "rlx/ir/evaluate.h"

namespace rlx {

struct RandomGraph {
  Graph graph;
  TensorMap inputs;

  RandomGraph clone() const { return {graph.clone(), inputs}; }
};

// 3 to 20 nodes whose values stay finite and tame, so that rounding is all devices may differ in.
RandomGraph random_graph(uint64_t seed);
// One that is mostly of formulas that passes look for, and of some that they must leave alone.
RandomGraph random_formula_graph(uint64_t seed);
// One of few nodes, of one formula alone: they take turns with the seeds.
RandomGraph random_single_formula(uint64_t seed);

// Does every symbol have an input whose extent tells its value?
bool binds_all_symbols(const Graph& graph);

// The graph's text, for a bug report.
std::string to_text(const RandomGraph& random);

}  // namespace rlx
