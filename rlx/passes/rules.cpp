#include "rlx/passes/rules.h"

#include <algorithm>
#include <set>

#include "rlx/passes/extents.h"
#include "rlx/passes/near_misses.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

using Checks = std::vector<DimCheck>;

Checks checks_of(const Graph& graph, const std::vector<int>& nodes) {
  Checks all;
  for (const int at : nodes)
    all.insert(all.end(), graph.node(at).checks.begin(), graph.node(at).checks.end());
  return all;
}

struct Applied {
  int root;
  std::vector<int> nodes;
};

// The rule's replacement, if it is one.
std::optional<Value> replacement(const Rule& rule, const Match& match, const MatchGraph& from,
                                 const RewriteSite& site) {
  const int first_new = static_cast<int>(site.to.nodes().size());
  const Found found(match, from.graph().value(site.at), site.moved);
  const auto refused = [&](const std::string& why) {
    constexpr size_t kLeast = 3;  // smaller ones are looked for everywhere
    if (NearMisses* misses = from.misses(); misses && match.nodes.size() >= kLeast)
      misses->note({site.at, site.node.op->name,
                    site.node.name.empty() ? site.node.origin : site.node.name, match.nodes.size(),
                    "all of it fits, but " + why});
    return std::nullopt;
  };
  Value value;
  try {
    value = rule.replace(found);
  } catch (const Error& error) {  // the op has no such form
    return refused(error.what());
  }
  if (!value.present()) return refused("what is asked of it beyond the formula does not hold");
  if (site.node.types.size() > 1 &&
      (value.result != 0 || value.producer().types.size() != site.node.types.size()))
    return refused("another op has other results");
  if (!(value.type() == site.node.types[0]))
    return refused(text("the result would be ", value.type(), ", not ", site.node.types[0]));
  std::vector<int> added;
  for (int at = first_new; at < static_cast<int>(site.to.nodes().size()); ++at) added.push_back(at);
  const Checks before = checks_of(from.graph(), match.nodes), after = checks_of(site.to, added);
  if (!ask_the_same(before, after))
    return refused("it would ask other things of the extents of a run");
  for (const int at : added)
    if (!is_source(site.to.node(at))) site.to.set_origin(site.to.value(at), site.node.origin);
  return value;
}

// Asked first, since making a graph again takes longer than looking through it.
bool may_change(const MatchGraph& from, const Rules& rules) {
  const Graph& graph = from.graph();
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at)
    for (const Rule& rule : rules)
      if (from.is_read_by_its_first(at) && match(from, rule.pattern, graph.value(at))) return true;
  return false;
}

struct Sweep {
  Graph graph;
  int64_t changes = 0;
};
Sweep sweep(const MatchGraph& from, const Rules& rules) {
  const Graph& graph = from.graph();
  std::vector<Applied> applied;
  Sweep result{rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!from.is_read_by_its_first(site.at)) return std::nullopt;
    for (const Rule& rule : rules) {
      const auto match = rlx::match(from, rule.pattern, graph.value(site.at));
      if (!match) continue;
      const auto value = replacement(rule, *match, from, site);
      if (!value) continue;
      applied.push_back({site.at, match->nodes});
      Values results{*value};
      for (size_t r = 1; r < site.node.types.size(); ++r)
        results.push_back(value->of(static_cast<int>(r)));  // which nobody reads
      return results;
    }
    return std::nullopt;
  })};
  // What was replaced inside of something larger that was replaced, too, is no change of its own.
  for (const Applied& each : applied)
    result.changes += std::none_of(applied.begin(), applied.end(), [&](const Applied& other) {
      return other.root != each.root &&
             std::find(other.nodes.begin(), other.nodes.end(), each.root) != other.nodes.end();
    });
  return result;
}

}  // namespace

Value Found::operand(const Pattern& pattern, size_t i) const {
  const Node& of = node(pattern);
  return i < of.inputs.size() && of.inputs[i].present() ? moved_(of.inputs[i]) : Value{};
}

PassResult apply_rules(const Graph& graph, const Rules& rules, NearMisses* misses) {
  constexpr int kMostSweeps = 16;  // each finds what the one before it has made
  PassResult result;
  if (misses) misses->begin_graph();
  for (int i = 0; i < kMostSweeps; ++i) {
    if (misses) misses->begin_sweep();
    const MatchGraph from(result.graph ? *result.graph : graph, misses);
    if (!may_change(from, rules)) break;
    Sweep next = sweep(from, rules);
    if (next.changes == 0) break;
    result = {alive(std::move(next.graph)), result.changes + next.changes};
  }
  return result;
}

}  // namespace rlx
