#include "rlx/passes/rules.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

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

// The rules that may have a node of an op as their root, found once for each op.
class RulesByRoot {
 public:
  explicit RulesByRoot(const Rules& rules) : rules_(rules) {}
  const std::vector<const Rule*>& of(const Node& node) {
    const auto [at, is_new] = by_op_.try_emplace(node.op.get());
    if (is_new)
      for (const Rule& rule : rules_)
        if (may_be_root(rule.pattern, node.op.get())) at->second.push_back(&rule);
    return at->second;
  }

 private:
  const Rules& rules_;
  std::unordered_map<const OpDef*, std::vector<const Rule*>> by_op_;
};

// The first node that a rule fits; -1: none.
int first_match(const MatchGraph& from, RulesByRoot& rules) {
  const Graph& graph = from.graph();
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at)
    for (const Rule* rule : rules.of(graph.node(at)))
      if (from.is_read_by_its_first(at) && match(from, rule->pattern, graph.value(at))) return at;
  return -1;
}

// One look at every node of a graph. What replaces a node is appended to the graph, which is as it
// was until all have been looked at; then readers change over, and nodes that nobody reads go.
class Sweep {
 public:
  Sweep(Graph& graph, const MatchGraph& from, RulesByRoot& rules)
      : graph_(graph),
        rules_(rules),
        from_(from),
        size_(static_cast<int>(graph.nodes().size())),
        stands_for_(graph.nodes().size()) {}

  // How many changes were made.
  int64_t run(int first) {
    for (int at = first; at < size_; ++at)
      if (from_.is_read_by_its_first(at)) apply(at);
    if (applied_.empty()) {
      graph_.data()->nodes.resize(static_cast<size_t>(size_));
      return 0;
    }
    finish();
    return count_changes();
  }

 private:
  struct Applied {
    int root;
    int first_new;  // of the nodes that it brought
    std::vector<int> nodes;
  };

  Value moved(const Value& value) const {
    if (!value.present() || value.node >= size_) return value;
    const Value& other = stands_for_[size_t(value.node)];
    return other.present() ? other.of(other.result + value.result) : value;
  }

  void apply(int at) {
    for (const Rule* rule : rules_.of(graph_.node(at))) {
      const auto match = rlx::match(from_, rule->pattern, graph_.value(at));
      if (!match) continue;
      const int first_new = static_cast<int>(graph_.nodes().size());
      const auto value = replacement(*rule, *match, at);
      if (!value) continue;
      stands_for_[size_t(at)] = *value;
      applied_.push_back({at, first_new, match->nodes});
      return;
    }
  }

  // The rule's replacement, if it is one.
  std::optional<Value> replacement(const Rule& rule, const Match& match, int at) {
    const Node& node = graph_.node(at);
    const int first_new = static_cast<int>(graph_.nodes().size());
    const Found found(match, graph_.value(at), [&](const Value& value) { return moved(value); });
    const auto refused = [&](const auto&... why) {
      constexpr size_t kLeast = 3;  // smaller ones are looked for everywhere
      if (NearMisses* misses = from_.misses(); misses && match.nodes.size() >= kLeast)
        misses->note({at, node.op->name, node.name.empty() ? node.origin : node.name,
                      match.nodes.size(), text("all of it fits, but ", why...)});
      return std::nullopt;
    };
    Value value;
    try {
      value = rule.replace(found);
    } catch (const Error& error) {  // the op has no such form
      return refused(error.what());
    }
    if (!value.present()) return refused("what is asked of it beyond the formula does not hold");
    if (node.types.size() > 1 &&
        (value.result != 0 || value.producer().types.size() != node.types.size()))
      return refused("another op has other results");
    if (!(value.type() == node.types[0]))
      return refused("the result would be ", value.type(), ", not ", node.types[0]);
    std::vector<int> added;
    for (int i = first_new; i < static_cast<int>(graph_.nodes().size()); ++i) added.push_back(i);
    if (!ask_the_same(checks_of(graph_, match.nodes), checks_of(graph_, added)))
      return refused("it would ask other things of the extents of a run");
    for (const int i : added)
      if (!is_source(graph_.node(i))) graph_.set_origin(graph_.value(i), node.origin);
    return value;
  }

  void finish() {
    bool learns = false;  // integers are known by their elements, which are found with the types
    for (int at = 0; at < size_; ++at)
      for (Value& input : graph_.data()->nodes[size_t(at)].inputs) {
        const Value is = moved(input);
        learns |= !(is == input) && !is_float(is.dtype());
        input = is;
      }
    for (GraphOutput& output : graph_.data()->outputs) output.value = moved(output.value);
    for (StateUpdate& update : graph_.data()->updates) update.next = moved(update.next);
    std::vector<int> order;  // what stands for a node where that was
    size_t next = 0;
    for (int at = 0; at < size_; ++at) {
      for (; next < applied_.size() && applied_[next].root == at; ++next) {
        const int end = next + 1 < applied_.size() ? applied_[next + 1].first_new
                                                   : static_cast<int>(graph_.nodes().size());
        for (int i = applied_[next].first_new; i < end; ++i) order.push_back(i);
      }
      order.push_back(at);
    }
    const std::vector<int> live = live_of(graph_, order);
    graph_ = with_nodes(std::move(graph_), live);
    if (learns) graph_ = rebuild(graph_, [](const RewriteSite&) { return std::nullopt; });
  }

  // What was replaced inside of something larger that was replaced, too, is no change of its own.
  int64_t count_changes() const {
    std::vector<bool> inside(static_cast<size_t>(size_), false);
    for (const Applied& each : applied_)
      for (const int node : each.nodes)
        if (node != each.root) inside[size_t(node)] = true;
    return std::count_if(applied_.begin(), applied_.end(),
                         [&](const Applied& each) { return !inside[size_t(each.root)]; });
  }

  Graph& graph_;
  RulesByRoot& rules_;
  const MatchGraph& from_;
  const int size_;
  std::vector<Value> stands_for_;  // by node; absent: it stays
  std::vector<Applied> applied_;
};

}  // namespace

Value Found::operand(const Pattern& pattern, size_t i) const {
  const Node& of = node(pattern);
  return i < of.inputs.size() && of.inputs[i].present() ? moved_(of.inputs[i]) : Value{};
}

Values Found::operands(const Pattern& pattern, size_t first) const {
  Values found;
  for (size_t i = first; i < node(pattern).inputs.size(); ++i) found.push_back(operand(pattern, i));
  return found;
}

int64_t apply_rules(Changing& graph, const Rules& rules, NearMisses* misses) {
  constexpr int kMostSweeps = 16;  // each finds what the one before it has made
  int64_t all = 0;
  RulesByRoot by_root(rules);
  if (misses) misses->begin_graph();
  for (int i = 0; i < kMostSweeps; ++i) {
    if (misses) misses->begin_sweep();
    std::optional<MatchGraph> from(std::in_place, *graph, misses);
    const int first = first_match(*from, by_root);
    if (first < 0) break;
    Graph& edited = graph.edit();
    if (&edited != &from->graph()) from.emplace(edited, misses);  // it has just been copied
    const int64_t changes = Sweep(edited, *from, by_root).run(first);
    if (changes == 0) break;
    all += changes;
  }
  if (all == 0) graph.drop_copy();
  return all;
}

}  // namespace rlx
