// What is known of a graph's nodes before formulas are looked for.

#include <algorithm>

#include "rlx/passes/match.h"

namespace rlx {
namespace {

// Does a node make more bytes than it reads, or a number of them that only a run knows? What would
// take more memory when it is kept is computed at every run: a weight that is decoded, for one.
bool enlarges(const Node& node) {
  constexpr int64_t kSmall = 4096;
  int64_t read = 0, written = 0;
  const auto bytes = [](const TensorType& type) {
    return count(concrete(type.shape)) * info(type.dtype).bytes;
  };
  for (const TensorType& type : node.types) {
    if (!is_concrete(type.shape)) return true;
    written += bytes(type);
  }
  if (is_source(node)) return false;
  for (const Value& input : node.inputs)
    if (input.present() && is_concrete(input.shape())) read += bytes(input.type());
  return written > std::max(read, kSmall);
}

}  // namespace

MatchGraph::MatchGraph(const Graph& graph, NearMisses* misses)
    : graph_(graph),
      misses_(misses),
      once_(graph.nodes().size()),
      kept_(graph.nodes().size()),
      more_(graph.nodes().size()),
      readers_(graph.nodes().size()) {
  for (size_t at = 0; at < graph.nodes().size(); ++at) {
    const Node& node = graph.nodes()[at];
    bool fixed = is_weight(node) || is_constant(node) || (!is_source(node) && !node.inputs.empty());
    for (const Value& input : node.inputs) {
      if (!input.present()) continue;
      fixed &= bool(once_[size_t(input.node)]);
      readers_[size_t(input.node)].push_back(static_cast<int>(at));
      if (input.result > 0) more_[size_t(input.node)] = true;
    }
    once_[at] = fixed && !enlarges(node);
  }
  for (const GraphOutput& output : graph.outputs()) {
    kept_[size_t(output.value.node)] = true;
    if (output.value.result > 0) more_[size_t(output.value.node)] = true;
  }
  for (const StateUpdate& update : graph.updates()) kept_[size_t(update.next.node)] = true;
}

bool MatchGraph::is_inner(int node, const std::vector<int>& readers) const {
  if (kept_[size_t(node)]) return false;
  const std::vector<int>& all = this->readers(node);
  return std::all_of(all.begin(), all.end(), [&](int reader) {
    return std::find(readers.begin(), readers.end(), reader) != readers.end();
  });
}

}  // namespace rlx
