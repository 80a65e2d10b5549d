// What the tests of passes share: a graph before a pass and behind it must compute the same.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "rlx/conformance/disagreement.h"
#include "rlx/conformance/random.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"

namespace rlx {

inline Tensor some_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, dtype == DType::boolean ? static_cast<double>(random.chance(0.7))
                                          : 1.5 * random.normal());
  return tensor;
}
inline Tensor some_tensor(const Shape& shape, uint64_t seed = 1) {
  return some_tensor(DType::f32, shape, seed);
}

// Data for every input; symbols are 3.
inline TensorMap some_inputs(const Graph& graph) {
  TensorMap inputs;
  for (const Node& node : graph.nodes()) {
    if (!is_input(node)) continue;
    SymbolValues symbols;
    for (const Dim& dim : node.types[0].shape)
      for (const std::string& symbol : dim.symbols()) symbols[symbol] = 3;
    inputs[node.name] =
        some_tensor(node.types[0].dtype, bound(node.types[0].shape, symbols), inputs.size() + 7);
  }
  return inputs;
}

inline void expect_same(const Graph& before, const Graph& after) {
  const TensorMap inputs = some_inputs(before);
  const auto mismatch = disagreement({before.clone(), inputs}, evaluate(after, inputs).outputs);
  EXPECT_FALSE(mismatch) << *mismatch << '\n' << print(after);
}

// A device with these limits, for passes that know one.
inline PassTarget gpu_target(int64_t max_binding_bytes = int64_t{1} << 27) {
  PassTarget target;
  target.traits.name = "gpu";
  target.traits.device_class = DeviceClass::discrete;
  target.traits.max_binding_bytes = max_binding_bytes;
  target.traits.max_buffer_bytes = int64_t{1} << 30;
  return target;
}

// A host whose products go on with tiles.
inline PassTarget host_target() {
  PassTarget target;
  for (const char* op : {"matmul", "linear"})
    target.traits.calls.push_back({.op = op, .reads_views = true, .finishes = true});
  return target;
}

// The graph behind the pass, without what nobody reads.
inline Graph after_pass(const Pass& pass, const Graph& graph,
                        const PassTarget& target = gpu_target()) {
  Graph after = dead_code.run(pass.run(graph, {.target = &target}).graph).graph;
  verify(after);
  expect_same(graph, after);
  return after;
}

// As text, without the names of nodes that compute something.
inline std::string after_pass(const Pass& pass, const std::string& source,
                              const PassTarget& target = gpu_target()) {
  const Graph graph = parse("rlx 1\n" + source, catalog());
  const std::string whole = print(after_pass(pass, graph, target));
  std::istringstream lines(whole.substr(whole.find('\n') + 1));
  std::string result;
  const std::regex name(" @\"[^\"]*\"");
  for (std::string line; std::getline(lines, line);) {
    const bool is_source = std::regex_search(line, std::regex("= (input|weight|state) "));
    result += (is_source ? line : std::regex_replace(line, name, "")) + '\n';
  }
  return result;
}

// Names of ops, however they are ordered: in which order two operands are made is the compiler's
// choice.
struct OpNames : std::multiset<std::string> {
  OpNames() = default;
  OpNames(const std::string& list) {  // NOLINT(google-explicit-constructor)
    std::istringstream words(list);
    for (std::string word; words >> word;) insert(word);
  }
  friend std::ostream& operator<<(std::ostream& out, const OpNames& names) {
    return out << joined(names, " ");
  }
};

// The ops that compute something at every run: "matmul add".
inline OpNames ops_after(const Pass& pass, const Graph& graph,
                         const PassTarget& target = gpu_target()) {
  const Graph after = after_pass(pass, graph, target);
  const MatchGraph known(after);
  OpNames names;
  for (int at = 0; at < static_cast<int>(after.nodes().size()); ++at)
    if (!is_source(after.node(at)) && !known.is_once(after.value(at)))
      names.insert(after.node(at).op->name);
  return names;
}

// A graph with one input x and the output that `build` makes of it.
template <class Build>
Graph graph_of(const TensorType& type, Build build) {
  Graph graph;
  graph.output("y", build(graph.input("x", type)));
  return graph;
}

}  // namespace rlx
