// Makes the graph again with a node for each group, in an order that its edges allow.

#include <algorithm>

#include "rlx/passes/grouping.h"
#include "rlx/passes/passes.h"

namespace rlx {

const OpDef& fused_op();

namespace {

class Rewriting {
 public:
  Rewriting(const Graph& from, const Grouping& grouping, const std::vector<Grouping::Group>& groups)
      : from_(from), grouping_(grouping), groups_(groups), moved_(from.nodes().size()) {}

  Graph run() {
    for (const auto& [name, range] : from_.symbols()) to_.symbol(name, range.high, range.low);
    for (int at = 0; at < static_cast<int>(from_.nodes().size()); ++at) make_with_operands(at);
    for (const GraphOutput& output : from_.outputs()) to_.output(output.name, moved(output.value));
    for (const StateUpdate& update : from_.updates())
      to_.update(moved(update.state), moved(update.next));
    return std::move(to_);
  }

 private:
  Value moved(Value value) const {
    if (!value.present()) return value;
    return moved_[size_t(value.node)][size_t(value.result)];
  }

  // What it needs comes first: a group may read nodes that come later than its first member. With
  // a stack of its own, since a file may make a graph of any depth.
  void make_with_operands(int at) {
    std::vector<int> open{at};
    while (!open.empty()) {
      const int next = open.back();
      const size_t before = open.size();
      if (moved_[size_t(next)].empty())
        for (const Value& operand : operands_of(next))
          if (operand.present() && moved_[size_t(operand.node)].empty())
            open.push_back(operand.node);
      if (open.size() != before) continue;
      open.pop_back();
      make(next);
    }
  }
  // Of a node, or of the group that it is in.
  Values operands_of(int at) const {
    const int group = grouping_.group_of()[size_t(at)];
    return group < 0 ? from_.node(at).inputs : grouping_.inputs_of(groups_[size_t(group)]);
  }

  void make(int at) {
    if (!moved_[size_t(at)].empty()) return;
    const Node& node = from_.node(at);
    if (is_source(node)) {
      moved_[size_t(at)] = {to_.add_source(*node.op, node.types[0], node.attrs, node.name)};
      renaming_.note(node, moved_[size_t(at)]);
      return;
    }
    if (const int group = grouping_.group_of()[size_t(at)]; group >= 0)
      return make(groups_[size_t(group)]);
    Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(moved(input));
    const Value first = to_.add(node.op, inputs, renaming_(node.attrs), node.name);
    to_.set_origin(first, node.origin);
    for (size_t r = 0; r < node.types.size(); ++r)
      moved_[size_t(at)].push_back(first.of(static_cast<int>(r)));
    renaming_.note(node, moved_[size_t(at)]);
  }

  void make(const Grouping::Group& group) {
    const Values inputs = grouping_.inputs_of(group), outputs = grouping_.outputs_of(group);
    Values operands;
    for (const Value& input : inputs) operands.push_back(moved(input));
    Types types;
    for (const Value& operand : operands) types.push_back(operand.type());
    Graph body = grouping_.body_of(group, types, renaming_);
    const int named = group.anchor >= 0 ? group.anchor : group.nodes.back();
    const Value first =
        to_.add(fused_op(), operands, {{"body", std::make_shared<const Graph>(std::move(body))}},
                from_.node(named).name);
    to_.set_origin(first, from_.node(named).origin);
    for (size_t r = 0; r < outputs.size(); ++r)
      moved_[size_t(outputs[r].node)] = {first.of(static_cast<int>(r))};
    for (const int at : group.nodes)
      if (moved_[size_t(at)].empty())
        moved_[size_t(at)] = {Value{}};  // nobody outside reads it
      else
        renaming_.note(from_.node(at), moved_[size_t(at)]);
  }

  const Graph& from_;
  const Grouping& grouping_;
  const std::vector<Grouping::Group>& groups_;
  Graph to_;
  std::vector<Values> moved_;
  Renaming renaming_;
};

PassResult run(const Graph& graph, const PassTarget& target, const PassSite& site) {
  Grouping grouping(graph, target.traits, target.choices, site.misses);
  const std::vector<Grouping::Group> groups = grouping.find();
  const auto made = std::count_if(groups.begin(), groups.end(), [](const Grouping::Group& group) {
    return !group.nodes.empty();
  });
  if (made == 0) return {};
  return {Rewriting(graph, grouping, groups).run(), made};
}

}  // namespace

// As far as a device can run them as one kernel and fuse_cost.h finds it worth it.
const Pass fuse{"fuse", "Makes groups of nodes that one kernel computes.", run, false};

}  // namespace rlx
