// On the host a call goes on with a tile in the shape and order of its own result. What computes
// single elements of a view of that result runs before the view: reshape(matmul) + x becomes
// reshape(matmul + reshape(x)), and the sum is part of the product.

#include <algorithm>

#include "rlx/codegen/host_group.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"
#include "rlx/passes/match.h"
#include "rlx/passes/passes.h"

namespace rlx {
namespace {

bool is_transpose(const Node& node) { return is_one_of(node, {"transpose"}); }
bool is_moved(const Node& node) {
  return is_one_of(node, {"transpose", "reshape", "squeeze", "unsqueeze"}) &&
         node.definitions.empty() && node.checks.empty();
}
Ints order_of(const Node& transpose) {
  return transpose_order(transpose.attrs.get<Ints>("order"), transpose.inputs[0].type());
}

// An operand of an op on single elements, seen through views of a result.
struct Seen {
  size_t operand = 0;
  std::vector<int> views;  // from the op to the result
  Value result;
};

class Moving {
 public:
  Moving(const Graph& graph, const DeviceTraits& traits) : known_(graph), traits_(traits) {}

  std::optional<Seen> seen(int at) const {
    const Node& node = known_.graph().node(at);
    if (!is_elementwise(node)) return std::nullopt;
    std::optional<Seen> found;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& input = node.inputs[i];
      if (!input.present()) return std::nullopt;
      if (goes_on(input, at, kDepth)) return std::nullopt;  // it is part of a call as it is
      if (found) continue;
      Seen here{i, {}, input};
      for (int reader = at;
           is_moved(here.result.producer()) && known_.is_inner(here.result.node, {reader});) {
        reader = here.result.node;
        here.views.push_back(reader);
        here.result = here.result.producer().inputs[0];
      }
      if (!here.views.empty() && input.shape() == node.types[0].shape &&
          goes_on(here.result, here.views.back(), kDepth))
        found = std::move(here);
    }
    if (!found) return std::nullopt;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (i != found->operand && !can_turn_back(node.inputs[i], *found, node)) return std::nullopt;
    return found;
  }

  Value operator()(const RewriteSite& site, const Seen& seen) const {
    Values inputs = site.inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] =
          i == seen.operand ? site.moved(seen.result) : turned_back(inputs[i], seen, site.moved);
    Value made = site.to.add(site.node.op, inputs, site.attrs, site.node.name);
    site.to.set_origin(made, site.node.origin);
    for (auto view = seen.views.rbegin(); view != seen.views.rend(); ++view) {
      const Node& node = known_.graph().node(*view);
      made = is_transpose(node) ? transpose(made, order_of(node))
                                : reshape(made, site.moved(known_.graph().value(*view)).shape());
    }
    return made;
  }

 private:
  static constexpr int kDepth = 8;

  bool is_elementwise(const Node& node) const {
    return is_tile_op(node, traits_) && node.types.size() == 1 && node.definitions.empty() &&
           node.checks.empty();
  }

  // Is the value, which the reader alone reads, made by a call that goes on with a tile, or by that
  // tile?
  bool goes_on(const Value& value, int reader, int depth) const {
    if (depth == 0 || value.result > 0 || !known_.is_inner(value.node, {reader})) return false;
    const Node& node = value.producer();
    if (is_source(node) || known_.is_once(value)) return false;
    if (may_go_on(node, traits_)) return true;
    return is_elementwise(node) &&
           std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
             return input.present() && input.shape() == value.shape() &&
                    goes_on(input, value.node, depth - 1);
           });
  }

  // As a view? A reshape of what is transposed would be a copy.
  bool can_turn_back(const Value& other, const Seen& seen, const Node& node) const {
    if (count(other.shape()).is(1)) return true;
    bool turned = !(other.shape() == node.types[0].shape);
    for (const int view : seen.views) {
      if (is_transpose(known_.graph().node(view)))
        turned = true;
      else if (turned)
        return false;
    }
    return true;
  }

  // What the views make of the result is the value.
  Value turned_back(Value other, const Seen& seen,
                    const std::function<Value(const Value& value)>& moved) const {
    if (count(other.shape()).is(1)) return other.shape().empty() ? other : reshape(other, Dims{});
    for (const int view : seen.views) {
      const Node& node = known_.graph().node(view);
      if (!is_transpose(node)) {
        other = reshape(other, moved(node.inputs[0]).shape());
        continue;
      }
      const Ints order = order_of(node);
      Ints leading, back(order.size());
      for (size_t d = other.shape().size(); d < order.size(); ++d)
        leading.push_back(static_cast<int64_t>(leading.size()));
      for (size_t d = 0; d < order.size(); ++d) back[size_t(order[d])] = static_cast<int64_t>(d);
      other = merged_transpose(leading.empty() ? other : unsqueeze(other, leading), back);
    }
    return other;
  }

  MatchGraph known_;
  const DeviceTraits& traits_;
};

// One op of a chain at a time: what is behind it finds its views in the graph that is made.
PassResult move_once(const Graph& graph, const DeviceTraits& traits) {
  const Moving moving(graph, traits);
  std::vector<std::optional<Seen>> seen;
  int64_t changes = 0;
  for (int at = 0; at < static_cast<int>(graph.nodes().size()); ++at) {
    seen.push_back(moving.seen(at));
    changes += seen.back().has_value();
  }
  if (changes == 0) return {};
  Graph made = rebuild(graph, [&](const RewriteSite& site) -> std::optional<Values> {
    if (!seen[size_t(site.at)]) return std::nullopt;
    return Values{moving(site, *seen[size_t(site.at)])};
  });
  return {alive(std::move(made)), changes};
}

PassResult run(const Graph& graph, const PassTarget& target, const PassSite&) {
  if (!target.traits.on_host()) return {};
  PassResult all = move_once(graph, target.traits);
  constexpr int kMostRounds = 16;
  for (int round = 1; all.changes > 0 && round < kMostRounds; ++round) {
    PassResult more = move_once(*all.graph, target.traits);
    if (!more.graph) break;
    all.graph = std::move(more.graph);
    all.changes += more.changes;
  }
  return all;
}

}  // namespace

const Pass move_views{
    "move-views", "Runs ops on single elements before the views of what a call of the host made.",
    run};

}  // namespace rlx
