#include "rlx/autodiff/gradient.h"

#include <algorithm>
#include <map>

#include "rlx/base/error.h"
#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

// Which nodes depend on any of `xs`.
std::vector<bool> dependents(const GraphData& graph, const Values& xs, int last) {
  std::vector<bool> depends(size_t(last) + 1, false);
  for (const Value& x : xs)
    if (x.node <= last) depends[size_t(x.node)] = true;
  for (int at = 0; at <= last; ++at)
    for (const Value& input : graph.nodes[size_t(at)].inputs)
      if (input.present() && depends[size_t(input.node)]) depends[size_t(at)] = true;
  return depends;
}

Values sweep(const Values& ys, const Values& seeds, const Values& xs) {
  if (xs.empty()) return {};
  GraphData* graph = xs[0].graph;
  std::map<std::pair<int, int>, Value> gradients;
  int last = -1;
  for (size_t i = 0; i < ys.size(); ++i) {
    const auto [it, first] = gradients.emplace(std::pair(ys[i].node, ys[i].result), seeds[i]);
    if (!first) it->second = it->second + seeds[i];
    last = std::max(last, ys[i].node);
  }
  const std::vector<bool> depends = dependents(*graph, xs, last);
  for (int at = last; at >= 0; --at) {
    if (!depends[size_t(at)]) continue;
    const Node& node = graph->nodes[size_t(at)];
    const bool goes_on = std::any_of(
        node.inputs.begin(), node.inputs.end(),
        [&](const Value& input) { return input.present() && depends[size_t(input.node)]; });
    if (!goes_on) continue;
    GradientSite site{node, node.inputs, {}, {}, sweep};
    bool any = false;
    for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
      site.results.push_back({graph, at, r});
      const auto found = gradients.find({at, r});
      site.result_gradients.push_back(found == gradients.end() ? std::nullopt
                                                               : std::optional(found->second));
      any |= found != gradients.end();
    }
    if (!any) continue;
    if (!node.op->gradient)
      fail(ErrorKind::unsupported, node.op->name, ": has no gradient",
           node.op->gradient_reason.empty() ? "" : ": " + node.op->gradient_reason, "\n  at node '",
           node.name, "'");
    const Gradients parts = node.op->gradient(site);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Value input = site.inputs[i];
      if (!parts[i] || !input.present() || !depends[size_t(input.node)]) continue;
      const auto [it, first] = gradients.emplace(std::pair(input.node, input.result), *parts[i]);
      if (!first) it->second = it->second + *parts[i];
    }
  }
  Values results;
  for (const Value& x : xs) {
    const auto found = gradients.find({x.node, x.result});
    results.push_back(found != gradients.end() ? found->second : expand(scalar(x, 0), x.shape()));
  }
  return results;
}

}  // namespace

Values gradient(Value y, const Values& xs, Value seed) {
  return gradient(Values{y}, xs, Values{seed});
}

Values gradient(const Values& ys, const Values& xs, const Values& seeds) {
  require(!ys.empty(), "gradient: there is no value to take it of");
  require(seeds.empty() || seeds.size() == ys.size(), "gradient: there are ", seeds.size(),
          " seeds for ", ys.size(), " values");
  // Which one, where there are several.
  const auto number = [&](size_t i) { return ys.size() > 1 ? text(' ', i) : ""; };
  for (size_t i = 0; i < ys.size(); ++i) {
    require(ys[i].present(), "gradient: there is no value", number(i), " to take it of");
    require(ys[i].graph == ys[0].graph, "gradient: value", number(i), " is of another graph");
    require(is_float(ys[i].dtype()), "gradient: of", number(i), ' ', ys[i].type(),
            ", which is not a float");
  }
  for (size_t i = 0; i < xs.size(); ++i)
    require(xs[i].present() && xs[i].graph == ys[0].graph, "gradient: with respect to value ", i,
            ", which is ", xs[i].present() ? "of another graph" : "absent");
  Values all;
  for (size_t i = 0; i < ys.size(); ++i) {
    const Value& y = ys[i];
    Value seed = seeds.empty() ? Value{} : seeds[i];
    if (!seed.present()) seed = expand(scalar(y, 1), y.shape());
    require(seed.graph == y.graph, "gradient: the seed", number(i), " is of another graph");
    require(seed.type() == y.type(), "gradient: the seed", number(i), " is ", seed.type(),
            ", it must be like ", y.type());
    all.push_back(seed);
  }
  return sweep(ys, all, xs);
}

}  // namespace rlx
