// Starting from the last, each op on single elements takes in the producers of its operands that
// are of its kind and size, then one op of another kind whose kernel stores what they go on with. A
// producer that others read as well is taken in where they do not lead back into the group: its
// value is then a second result. One transpose may be among them: elements are counted as before
// it.

#include "rlx/passes/grouping.h"

#include <algorithm>

#include "rlx/codegen/channels_last.h"
#include "rlx/codegen/computed.h"
#include "rlx/codegen/host_group.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

const OpDef& fused_op();

namespace {

bool is_scalar_constant(const Node& node) {
  return is_constant(node) && tensor_of(node)->count() == 1;
}

void add_symbols(const Dims& dims, std::set<std::string>& symbols) {
  for (const Dim& dim : dims)
    for (std::string& symbol : dim.symbols()) symbols.insert(std::move(symbol));
}

}  // namespace

Grouping::Grouping(const Graph& graph, const DeviceTraits& traits, const Choices& choices,
                   NearMisses* misses)
    : graph_(graph),
      traits_(traits),
      choices_(choices),
      misses_(misses),
      size_(graph.nodes().size()) {
  readers_.resize(size_);
  leaves_.resize(size_, false);
  several_.resize(size_, false);
  group_.resize(size_, -1);
  for (const Node& node : graph.nodes()) {
    const bool made = !is_source(node) && !node.inputs.empty();
    once_.push_back(
        is_constant(node) || is_weight(node) ||
        (made && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
           return !input.present() || once_[size_t(input.node)];
         })));
  }
  for (size_t at = 0; at < size_; ++at)
    for (const Value& input : graph.nodes()[at].inputs)
      if (input.present()) {
        readers_[size_t(input.node)].push_back(static_cast<int>(at));
        if (input.result > 0) several_[size_t(input.node)] = true;
      }
  const auto leave = [&](const Value& value) {
    leaves_[size_t(value.node)] = true;
    if (value.result > 0) several_[size_t(value.node)] = true;
  };
  for (const GraphOutput& output : graph.outputs()) leave(output.value);
  for (const StateUpdate& update : graph.updates()) leave(update.next);
}

std::vector<Grouping::Group> Grouping::find() {
  for (size_t at = size_; at-- > 0;) {
    const int root = static_cast<int>(at);
    const bool copies = may_join(root) && copies_permuted(graph_.node(root));
    if (group_[at] >= 0 || !may_join(root) || !(scalar(root) || copies)) continue;
    Group group{{root}};
    const int number = static_cast<int>(groups_.size());
    group_[at] = number;
    groups_.push_back(group);
    grow(groups_.back(), number);
    Group& made = groups_.back();
    std::sort(made.nodes.begin(), made.nodes.end());
    const bool useful = made.anchor >= 0 || scalar_count(made) + made.maps.size() >
                                                (copies && made.turn >= 0 ? 0u : 1u);
    if (useful && speaks_of_inputs(made) && fits(made)) continue;
    for (const int node : made.nodes) group_[size_t(node)] = -1;
    groups_.pop_back();
  }
  if (!traits_.on_host()) take_loads();
  return groups_;
}

Values Grouping::inputs_of(const Group& group) const {
  Values inputs;
  for (const int at : group.nodes)
    for (const Value& input : read_by(at)) {
      if (!input.present() || is_member(group, input.node) || in_body(group, at, input)) continue;
      if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
    }
  return inputs;
}

Values Grouping::read_by(int at) const {
  const Node& node = graph_.node(at);
  return keeps_order(node) ? Values{node.inputs[0]} : node.inputs;
}

bool Grouping::in_body(const Group& group, int reader, const Value& input) const {
  if (!is_constant(input.producer())) return false;
  const bool is_kernel = reader == group.anchor || group.maps.count(reader) > 0;
  return (is_scalar_constant(input.producer()) && !is_kernel) || is_host(reader, input);
}

Graph Grouping::body_of(const Group& group, const Types& types, const Renaming& renaming) const {
  const Values inputs = inputs_of(group);
  Graph body;
  std::map<std::pair<int, int>, Value> inside;
  for (size_t i = 0; i < inputs.size(); ++i)
    inside[{inputs[i].node, inputs[i].result}] = body.input(text("x", i), types[i]);
  for (const int at : group.nodes) {
    const Node& node = graph_.node(at);
    Values parts;
    for (const Value& input : read_by(at)) {
      const auto known = inside.find({input.node, input.result});
      if (!input.present())
        parts.push_back(input);
      else if (in_body(group, at, input))
        parts.push_back(body.constant(*tensor_of(input.producer())));
      else
        parts.push_back(known->second);
    }
    inside[{at, 0}] =
        keeps_order(node)
            ? reshape(parts[0], renaming({{"shape", node.types[0].shape}}).get<Dims>("shape"))
            : body.add(node.op, parts, renaming(node.attrs), node.name);
  }
  const Values outputs = outputs_of(group);
  for (size_t r = 0; r < outputs.size(); ++r)
    body.output(text("y", r), inside.at({outputs[r].node, outputs[r].result}));
  return body;
}

Values Grouping::outputs_of(const Group& group) const {
  Values outputs;
  for (const int at : group.nodes) {
    const auto& readers = readers_[size_t(at)];
    const bool outside = std::any_of(readers.begin(), readers.end(),
                                     [&](int reader) { return !is_member(group, reader); });
    if (outside || leaves_[size_t(at)]) outputs.push_back(graph_.value(at));
  }
  return outputs;
}

bool Grouping::is_member(const Group& group, int node) {
  return std::find(group.nodes.begin(), group.nodes.end(), node) != group.nodes.end();
}

bool Grouping::is_host(int reader, const Value& value) const {
  const Node& node = graph_.node(reader);
  for (const size_t i : node.op->host_inputs)
    if (i < node.inputs.size() && node.inputs[i] == value) return true;
  return false;
}

bool Grouping::scalar(int at) const {
  return !keeps_order(graph_.node(at)) && !permuted_strides(graph_.node(at));
}

size_t Grouping::scalar_count(const Group& group) const {
  return static_cast<size_t>(std::count_if(group.nodes.begin(), group.nodes.end(),
                                           [&](int node) { return scalar(node); }));
}

bool Grouping::on_device(const Node& node) const {
  return std::all_of(node.types.begin(), node.types.end(),
                     [&](const TensorType& type) { return exists(type); }) &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Value& input) { return !input.present() || exists(input.type()); });
}

bool Grouping::is_shape_arithmetic(const Node& node) {
  return std::any_of(node.host_values.begin(), node.host_values.end(),
                     [](const auto& host) { return host.has_value(); });
}

bool Grouping::may_join(int at) const {
  const Node& node = graph_.node(at);
  if (group_[size_t(at)] >= 0 || once_[size_t(at)] || has_body(node)) return false;
  if (is_shape_arithmetic(node) || !node.definitions.empty()) return false;
  return traits_.on_host() ? is_tile_op(node, traits_) : is_pointwise(node) && on_device(node);
}

bool Grouping::runs_along(const Value& input, const Group& group) const {
  const Dims& shape = shape_of(group);
  return traits_.on_host() ? input.shape() == shape : count(input.shape()) == count(shape);
}

const Dims& Grouping::shape_of(const Group& group) const {
  return graph_.node(group.nodes.front()).types[0].shape;
}

void Grouping::grow(Group& group, int number) {
  for (size_t next = 0; next < group.nodes.size(); ++next) {
    const Values inputs = graph_.node(group.nodes[next]).inputs;
    for (const Value& input : inputs) {
      if (group.nodes.size() >= kMostNodes) break;
      if (!input.present() || is_member(group, input.node) || input.result != 0) continue;
      if (!runs_along(input, group) || group.maps.count(group.nodes[next]) > 0) continue;
      const bool turns = group.turn < 0 && group.maps.empty() && may_turn(input.node);
      const bool joins = turns || may_join(input.node);
      if (!joins && (group.turn >= 0 || !may_be_map(input.node))) continue;
      if (!reads_outside(group, input.node, !joins)) continue;
      const bool before = is_before(group, group.nodes[next]);
      if (!in_order(group, input.node, before) || !closed_with(group, input.node)) continue;
      Group with = group;
      with.nodes.push_back(input.node);
      if (!joins) with.maps.insert(input.node);
      if (before) with.before.insert(input.node);
      if (turns) with.turn = input.node;
      if (!fits(with)) continue;
      group = std::move(with);
      group_[size_t(input.node)] = number;
    }
  }
  take_anchor(group, number);
  keep_one_map(group);
  const bool idle = group.turn >= 0 && group.before.empty();
  if (!idle && can_turn_back(group)) return;
  // Nothing is gained by the transpose: it is left outside, with what is before it.
  const Group whole = group;
  group.nodes.clear();
  for (const int node : whole.nodes)
    if (node == whole.turn || whole.before.count(node) > 0)
      group_[size_t(node)] = -1;
    else
      group.nodes.push_back(node);
  group.turn = group.anchor = -1;
  group.before.clear();
  take_anchor(group, number);
}

bool Grouping::may_turn(int at) const {
  const Node& node = graph_.node(at);
  if (traits_.on_host()) return false;  // a tile has one order
  return group_[size_t(at)] < 0 && !leaves_[size_t(at)] && readers_[size_t(at)].size() == 1 &&
         !once_[size_t(at)] && on_device(node) && !is_shape_arithmetic(node) &&
         permuted_strides(node);
}

bool Grouping::is_before(const Group& group, int node) {
  return node == group.turn || group.before.count(node) > 0;
}

bool Grouping::in_order(const Group& group, int node, bool before) const {
  if (group.turn < 0) return true;
  for (const int reader : readers_[size_t(node)])
    if (is_member(group, reader) && is_before(group, reader) != before) return false;
  for (const Value& input : graph_.node(node).inputs)
    if (input.present() && is_member(group, input.node) && input.node != group.turn &&
        (group.before.count(input.node) > 0) != before)
      return false;
  return true;
}

bool Grouping::can_turn_back(const Group& group) const {
  if (group.turn < 0) return true;
  const Dims& turned = graph_.node(group.turn).types[0].shape;
  for (const int at : group.nodes) {
    if (is_before(group, at)) continue;
    const Dims& shape = graph_.node(at).types[0].shape;
    for (const Value& input : read_by(at)) {
      if (is_member(group, input.node) || is_scalar_constant(input.producer())) continue;
      const bool in_row = count(input.shape()) == count(shape) && !input.producer().op->view;
      if (!in_row && !(shape == turned)) return false;
    }
  }
  return true;
}

void Grouping::take_anchor(Group& group, int number) {
  int best = -1;
  int64_t bindings = 0;
  for (const int at : group.nodes)
    for (const Value& input : graph_.node(at).inputs) {
      if (!input.present() || input.result != 0 || input.node <= best) continue;
      if (group.turn >= 0 && !(is_before(group, at) && in_order(group, input.node, true))) continue;
      if (is_member(group, input.node) || group_[size_t(input.node)] >= 0) continue;
      const Node& node = graph_.node(input.node);
      if (!runs_along(input, group) || once_[size_t(input.node)]) continue;
      if (!may_be_anchor(input.node)) continue;
      const AnchorTraits store = store_of(node);
      if (!store.stores || !closed_with(group, input.node)) continue;
      Group with = group;
      with.nodes.push_back(input.node);
      with.anchor = input.node;
      with.anchor_bindings = store.bindings;
      if (!fits(with)) continue;
      best = input.node;
      bindings = store.bindings;
    }
  if (best < 0) return;
  group.nodes.push_back(best);
  group.anchor = best;
  group.anchor_bindings = bindings;
  if (group.turn >= 0) group.before.insert(best);
  group_[size_t(best)] = number;
}

AnchorTraits Grouping::store_of(const Node& node) const {
  if (!traits_.on_host()) return anchor_traits(node, traits_, choices_);
  return {may_go_on(node, traits_), 1};
}

bool Grouping::may_be_map(int at) const {
  if (traits_.on_host() || group_[size_t(at)] >= 0 || once_[size_t(at)]) return false;
  return !is_source(graph_.node(at)) && may_be_anchor(at) && computes_each(at);
}

bool Grouping::computes_each(int at) const {
  const auto known = is_map_.find(at);
  if (known != is_map_.end()) return known->second;
  return is_map_[at] = is_map(graph_.node(at), traits_, choices_);
}

bool Grouping::reads_outside(const Group& group, int node, bool as_map) const {
  const auto reads = [&](int map, int member) {
    const Values& inputs = graph_.node(map).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Value& input) { return input.present() && input.node == member; });
  };
  const auto is_read = [&](int member) { return reads(node, member); };
  if (as_map && std::any_of(group.nodes.begin(), group.nodes.end(), is_read)) return false;
  return std::none_of(group.maps.begin(), group.maps.end(),
                      [&](int map) { return reads(map, node); });
}

void Grouping::keep_one_map(Group& group) const {
  if (group.anchor >= 0 || group.maps.size() != 1 || is_any_packed(outputs_of(group))) return;
  group.anchor = *group.maps.begin();
  group.anchor_bindings = store_of(graph_.node(group.anchor)).bindings;
  group.maps.clear();
}

bool Grouping::may_be_anchor(int at) const {
  const Node& node = graph_.node(at);
  if (is_source(node) || node.op->view || node.op->elementwise || has_body(node)) return false;
  if (several_[size_t(at)] || (traits_.on_host() && node.types.size() > 1)) return false;
  if (!on_device(node) || is_shape_arithmetic(node)) return false;
  if (!node.definitions.empty() || node.op.get() == &fused_op()) return false;
  return knows_host_inputs(node);
}

bool Grouping::knows_host_inputs(const Node& node) {
  return std::all_of(node.op->host_inputs.begin(), node.op->host_inputs.end(), [&](size_t i) {
    return i >= node.inputs.size() || !node.inputs[i].present() ||
           is_constant(node.inputs[i].producer());
  });
}

bool Grouping::is_any_packed(const Values& values) const {
  return std::any_of(values.begin(), values.end(), [&](const Value& value) {
    return device_storage(value.dtype(), traits_).elements_per_word > 1;
  });
}

bool Grouping::fits(const Group& group) const {
  const Values outputs = outputs_of(group);
  if (outputs.empty()) return false;  // nobody reads what it makes
  if (traits_.on_host()) {
    if (std::any_of(outputs.begin(), outputs.end(),
                    [](const Value& value) { return value.dtype() == DType::boolean; }))
      return false;
    // An anchor of floats leaves them where results of the group will be.
    const auto is_float = [](const Value& value) { return is_tile_float(value.dtype()); };
    return group.anchor < 0 || !is_float(graph_.value(group.anchor)) ||
           std::all_of(outputs.begin(), outputs.end(), is_float);
  }
  int64_t bindings = group.anchor < 0 ? 0 : group.anchor_bindings - 1;  // but for its result
  for (const Value& input : inputs_of(group)) {
    const auto& readers = readers_[size_t(input.node)];
    const bool of_anchor_only =
        group.anchor >= 0 && std::all_of(readers.begin(), readers.end(), [&](int reader) {
          return !is_member(group, reader) || reader == group.anchor;
        });
    bindings += !of_anchor_only;
  }
  bindings += static_cast<int64_t>(outputs.size());
  if (!group.maps.empty()) ++bindings;  // they may raise a flag
  if (bindings > traits_.max_storage_buffers) return false;
  if (group.anchor < 0 || !is_any_packed(outputs)) return true;
  // A region stores whole words; the kernel of an anchor goes element by element. Where a step
  // packs its result in any case, a region does that and all that comes behind.
  return group.turn < 0 && is_any_packed({graph_.value(group.anchor)});
}

bool Grouping::closed_with(const Group& group, int node) const {
  std::set<int> seen;
  std::vector<int> open;
  const auto leave = [&](int from) {
    for (const int reader : readers_[size_t(from)])
      if (seen.insert(reader).second) open.push_back(reader);
  };
  for (const int reader : readers_[size_t(node)])
    if (!is_member(group, reader) && seen.insert(reader).second) open.push_back(reader);
  // A long way to look is not worth a group: it would be taken for every candidate.
  constexpr size_t kFar = 1024;
  while (!open.empty()) {
    if (seen.size() > kFar) return false;
    const int at = open.back();
    open.pop_back();
    if (is_member(group, at)) return false;
    const int other = group_[size_t(at)];
    if (other < 0) {
      leave(at);
      continue;
    }
    for (const int member : groups_[size_t(other)].nodes) leave(member);
  }
  return true;
}

bool Grouping::speaks_of_inputs(const Group& group) const {
  std::set<std::string> known, needed;
  for (const Value& input : inputs_of(group)) add_symbols(input.shape(), known);
  for (const int at : group.nodes) {
    for (const TensorType& type : graph_.node(at).types) add_symbols(type.shape, needed);
    for (const auto& [name, attr] : graph_.node(at).attrs)
      if (const auto* dims = std::get_if<Dims>(&attr.variant())) add_symbols(*dims, needed);
  }
  return std::includes(known.begin(), known.end(), needed.begin(), needed.end());
}

}  // namespace rlx
