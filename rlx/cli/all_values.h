// A graph that also gives what its nodes compute, to look into a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/ir/evaluate.h"

namespace rlx::cli {

struct NodeResult {
  int node = 0, result = 0;
  std::string output;  // the name of the output that gives it
  std::string name;    // for people: the node's, with :1 for its second result
};

struct AllValues {
  Graph graph;                      // the outputs it had, and one for each of `results`
  std::vector<NodeResult> results;  // of every node that computes, in the graph's order
};
AllValues with_all_values(const Graph& graph);

// The first node whose result is not all finite numbers, as a sentence; none when all are.
std::optional<std::string> first_not_finite(const AllValues& all, const TensorMap& inputs,
                                            const TensorMap& outputs);

// Writes the result of every node as a .npy file, and index.json that says which is which.
void dump_values(const AllValues& all, const TensorMap& outputs, const std::string& folder);

// Element i as an index of its shape: [0, 3].
std::string index_text(const Shape& shape, int64_t i);

}  // namespace rlx::cli
