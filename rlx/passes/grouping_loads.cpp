// What no store computes is computed by the loads of a kernel that reads it, where nothing else
// does and fuse_cost.h finds it worth it.

#include <algorithm>

#include "rlx/passes/grouping.h"

namespace rlx {

const OpDef& fused_op();

void Grouping::take_loads() {
  for (int at = 0; at < static_cast<int>(size_); ++at) {
    const int own = group_[size_t(at)];
    if (once_[size_t(at)] || (own >= 0 && groups_[size_t(own)].anchor != at)) continue;
    const Node& node = graph_.node(at);
    if (is_source(node) || !may_be_anchor(at)) continue;
    std::optional<AnchorTraits> traits;  // asked for once, where there is something to take
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      std::vector<int> nodes = in_front_of(at, i);
      if (nodes.empty()) continue;
      if (!traits) traits = anchor_traits(node, traits_, choices_);
      if (i < traits->loads.size())
        take_load(at, node.inputs[i], std::move(nodes), traits->loads[i]);
    }
  }
}

bool Grouping::is_own_view(int at) const {
  const Node& node = graph_.node(at);
  if (!gives_view(node) || group_[size_t(at)] >= 0 || leaves_[size_t(at)]) return false;
  return readers_[size_t(at)].size() == 1 && !once_[size_t(at)] && !has_body(node) &&
         on_device(node) && !is_shape_arithmetic(node) && node.definitions.empty() &&
         knows_host_inputs(node);
}

std::vector<int> Grouping::in_front_of(int anchor, size_t i) const {
  Value value = graph_.node(anchor).inputs[i];
  std::vector<int> nodes;
  while (value.present() && is_own_view(value.node)) {
    nodes.push_back(value.node);
    value = value.producer().inputs[0];
  }
  if (!value.present() || value.result != 0) return {};
  const int group = group_[size_t(value.node)];
  if (group < 0) {
    if (is_source(value.producer())) return {};
    if (!(may_join(value.node) && scalar(value.node)) && !may_be_map(value.node)) return {};
    nodes.push_back(value.node);
    return nodes;
  }
  const Group& region = groups_[size_t(group)];
  if (group == group_[size_t(anchor)] || region.turn >= 0) return {};
  if (region.anchor >= 0 && !computes_each(region.anchor)) return {};
  nodes.insert(nodes.end(), region.nodes.begin(), region.nodes.end());
  return nodes;
}

bool Grouping::is_kernel(int at) const {
  const Node& node = graph_.node(at);
  return !is_pointwise(node) && !gives_view(node);
}

void Grouping::take_load(int anchor, const Value& operand, std::vector<int> nodes,
                         const std::optional<Dim>& loads) {
  const int own = group_[size_t(anchor)];
  Group with = own < 0 ? Group{{anchor}, anchor} : groups_[size_t(own)];
  with.nodes.insert(with.nodes.end(), nodes.begin(), nodes.end());
  for (const int node : nodes)
    if (is_kernel(node)) with.maps.insert(node);
  std::sort(with.nodes.begin(), with.nodes.end());
  Value value = operand;
  while (is_own_view(value.node)) value = value.producer().inputs[0];
  const auto miss = [&](const std::string& reason) {
    if (!misses_) return;
    const Node& node = graph_.node(anchor);
    misses_->add({anchor, node.op->name, node.name, nodes.size(),
                  text(describe(value.producer()), " before it: ", reason)});
  };
  // Others' elements are not those of the anchor's result: they cannot be stored with them.
  const Dim stored = count(graph_.node(anchor).types[0].shape);
  bool stores = false;
  const Values outputs = outputs_of(with);
  if (outputs.empty()) return;  // nobody reads what the anchor makes
  for (const Value& output : outputs) {
    if (std::find(nodes.begin(), nodes.end(), output.node) == nodes.end()) continue;
    if (with.turn >= 0 || !(count(output.shape()) == stored)) return;
    stores = true;
  }
  if (!loads) return miss("its kernel does not say how often it loads what it reads");
  if (with.nodes.size() > kMostNodes || !is_closed(with) || !speaks_of_inputs(with)) return;
  const Verdict verdict = judge(load_of(value, nodes, *loads, stores), traits_, graph_.symbols());
  if (!verdict.taken) return miss(verdict.reason);
  if (!is_one_kernel(with)) return miss("one kernel cannot have all of it");
  const int region = group_[size_t(value.node)];
  if (region >= 0) groups_[size_t(region)] = {};
  const int number = own < 0 ? static_cast<int>(groups_.size()) : own;
  for (const int node : with.nodes) group_[size_t(node)] = number;
  if (own < 0)
    groups_.push_back(std::move(with));
  else
    groups_[size_t(own)] = std::move(with);
}

ComputedLoad Grouping::load_of(const Value& value, const std::vector<int>& nodes, const Dim& loads,
                               bool stored) const {
  constexpr double kPerAxis = 4;
  ComputedLoad load{count(value.shape()), loads};
  load.bytes = static_cast<double>(bytes_of(value.dtype()));
  load.stored = stored;
  Values read;
  for (const int at : nodes) {
    load.operations += operations_of(graph_.node(at));
    if (is_kernel(at)) {  // a map
      load.operations += 2 * kPerAxis * static_cast<double>(graph_.node(at).types[0].shape.size());
      load.bytes_read += load.bytes;
      continue;
    }
    for (const Value& input : read_by(at)) {
      if (!input.present()) continue;
      const bool inside = std::find(nodes.begin(), nodes.end(), input.node) != nodes.end();
      if (inside || std::find(read.begin(), read.end(), input) != read.end()) continue;
      read.push_back(input);
      if (count(input.shape()) == load.elements)
        load.bytes_read += static_cast<double>(bytes_of(input.dtype()));
      else if (!is_constant(input.producer()))  // in a cache, but its place is to be found
        load.operations += kPerAxis * static_cast<double>(input.shape().size());
    }
  }
  return load;
}

bool Grouping::is_one_kernel(const Group& group) const {
  // The order of a view is another one than that of its elements.
  for (const int at : group.nodes) {
    if (!keeps_order(graph_.node(at))) continue;
    const Value x = graph_.node(at).inputs[0];
    if (!is_member(group, x.node) && x.producer().op->view) return false;
  }
  Types types;
  for (const Value& input : inputs_of(group)) types.push_back(input.type());
  const auto body = std::make_shared<const Graph>(body_of(group, types, {}));
  Graph graph;
  Values inputs;
  for (size_t i = 0; i < types.size(); ++i) inputs.push_back(graph.input(text("x", i), types[i]));
  const Node& node = graph.add(fused_op(), inputs, {{"body", body}}).producer();
  ValueId next = 0;
  std::vector<Operand> operands, results;
  for (const TensorType& type : types) operands.emplace_back(next++, type, Access::read);
  for (const TensorType& type : node.types) results.emplace_back(next++, type, Access::read);
  const LowerSite site{node,
                       traits_,
                       choices_,
                       operands,
                       results,
                       [&](const TensorType&) { return next++; },
                       {},
                       [](const Operand& from, const Operand& to) -> Steps {
                         return Copy{from.value, to.value};
                       },
                       {},
                       {}};
  try {
    return lower_group(site, *body).has_value();
  } catch (const Error&) {
    return false;
  }
}

bool Grouping::is_closed(const Group& group) const {
  return std::all_of(group.nodes.begin(), group.nodes.end(),
                     [&](int node) { return closed_with(group, node); });
}

}  // namespace rlx
