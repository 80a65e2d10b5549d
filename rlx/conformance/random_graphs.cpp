#include "rlx/conformance/random_graphs.h"

#include <algorithm>
#include <set>

#include "rlx/conformance/random_pool.h"
#include "rlx/ir/graph.h"
#include "rlx/ir/text.h"

namespace rlx {

namespace {

using StepList = std::vector<RandomStep>;

// Of `often` seven steps in ten.
RandomGraph grown(uint64_t seed, const StepList& often, const StepList& seldom,
                  int64_t most_nodes) {
  RandomPool pool(seed);
  for (int64_t inputs = pool.random.between(1, 3); inputs > 0; --inputs) pool.add_float_input();
  const int64_t wanted = pool.random.between(3, most_nodes);
  for (int tries = 0; tries < 60 && pool.computed() < wanted; ++tries)
    pool.try_step(pool.random.pick(pool.random.chance(0.3) ? seldom : often));
  pool.add_outputs();
  return {std::move(pool.graph), std::move(pool.inputs)};
}

StepList all_formulas() {
  StepList formulas = random_formulas();
  for (const RandomStep step : random_structures()) formulas.push_back(step);
  return formulas;
}

}  // namespace

RandomGraph random_graph(uint64_t seed) { return grown(seed, random_steps(), random_layers(), 20); }
RandomGraph random_formula_graph(uint64_t seed) {
  return grown(seed, all_formulas(), random_steps(), 40);
}
RandomGraph random_single_formula(uint64_t seed) {
  const StepList formulas = all_formulas();
  const StepList one{formulas[seed % formulas.size()]};
  return grown(seed, one, one, 4);
}

bool binds_all_symbols(const Graph& graph) {
  std::set<std::string> bound;
  for (const Node& node : graph.nodes())
    if (is_input(node))
      for (const Dim& dim : node.types[0].shape)
        if (const auto symbol = dim.symbol()) bound.insert(*symbol);
  for (const Node& node : graph.nodes())
    for (const TensorType& type : node.types)
      for (const Dim& dim : type.shape)
        for (const std::string& symbol : dim.symbols())
          if (!bound.count(symbol)) return false;
  return true;
}

std::string to_text(const RandomGraph& random) {
  std::string result = print(random.graph);
  for (const auto& [name, tensor] : random.inputs) {
    result += text("# ", name, " = ", tensor.type());
    for (int64_t i = 0; i < std::min<int64_t>(tensor.count(), 8); ++i)
      result += text(i ? ", " : ": ", tensor.at(i));
    result += tensor.count() > 8 ? ", ...\n" : "\n";
  }
  return result;
}

}  // namespace rlx
