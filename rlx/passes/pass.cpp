#include "rlx/passes/pass.h"

#include <algorithm>
#include <set>

#include "rlx/ir/renaming.h"

namespace rlx {
namespace {

bool is_extent_of_operand(const Dim& dim, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value& input) {
    if (!input.present()) return false;
    const Dims& shape = input.shape();
    return std::find(shape.begin(), shape.end(), dim) != shape.end();
  });
}

// Are all symbols of a result's extents those of the operands? Others are numbered by the graph.
bool mentions_operands_alone(const Node& node) {
  std::vector<std::string> known;
  const auto is_known = [&](const std::string& symbol) {
    if (known.empty())
      for (const Value& input : node.inputs)
        if (input.present())
          for (const Dim& dim : input.shape())
            for (std::string& each : dim.symbols()) known.push_back(std::move(each));
    return std::find(known.begin(), known.end(), symbol) != known.end();
  };
  for (const TensorType& type : node.types)
    for (const Dim& dim : type.shape) {
      if (dim.is_number() || is_extent_of_operand(dim, node)) continue;
      const std::vector<std::string> symbols = dim.symbols();
      if (!std::all_of(symbols.begin(), symbols.end(), is_known)) return false;
    }
  return true;
}

// Would inferring its types again give what there is? Elements of integers are learned by adding a
// node, and bodies are made for their operands.
bool stays_as_it_is(const Node& node, const Values& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value &was = node.inputs[i], &is = inputs[i];
    if (was.present() != is.present()) return false;
    if (is.present() && (!is_float(is.dtype()) || !(was.type() == is.type()))) return false;
  }
  const bool any =
      std::any_of(inputs.begin(), inputs.end(), [](const Value& input) { return input.present(); });
  return any && node.definitions.empty() && !has_body(node) &&
         std::none_of(node.host_values.begin(), node.host_values.end(),
                      [](const auto& host) { return host.has_value(); }) &&
         mentions_operands_alone(node);
}

}  // namespace

Values copy_node(const RewriteSite& site, const Values& inputs) {
  const Node& node = site.node;
  Value first;
  if (&site.attrs == &node.attrs && stays_as_it_is(node, inputs)) {
    GraphData& to = *std::find_if(inputs.begin(), inputs.end(), [](const Value& input) {
                       return input.present();
                     })->graph;
    first = {&to, static_cast<int>(to.nodes.size()), 0};
    to.nodes.push_back(node);
    to.nodes.back().inputs = inputs;
    to.nodes.back().known.reset();
  } else {
    first = site.to.add(node.op, inputs, site.attrs, node.name);
    site.to.set_origin(first, node.origin);
  }
  Values results;
  for (size_t r = 0; r < node.types.size(); ++r) results.push_back(first.of(static_cast<int>(r)));
  return results;
}

Graph rebuild(const Graph& from, const Rewrite& rewrite) {
  Graph to;
  for (const auto& [name, range] : from.symbols()) to.symbol(name, range.high, range.low);
  std::vector<Values> moved(from.nodes().size());
  Renaming renaming;
  const std::function<Value(const Value&)> moved_to = [&](const Value& value) {
    return value.present() ? moved[size_t(value.node)][size_t(value.result)] : Value{};
  };
  for (int at = 0; at < static_cast<int>(from.nodes().size()); ++at) {
    const Node& node = from.node(at);
    Values& results = moved[size_t(at)];
    if (is_source(node)) {
      results = {to.add_source(*node.op, node.types[0], node.attrs, node.name)};
      renaming.note(node, results);
      continue;
    }
    Values inputs;
    for (const Value& input : node.inputs) inputs.push_back(moved_to(input));
    std::optional<Attrs> renamed;
    if (!renaming.empty()) renamed = renaming(node.attrs);
    const RewriteSite site{node, at, inputs, renamed ? *renamed : node.attrs, to, moved_to};
    if (auto better = rewrite(site))
      results = std::move(*better);
    else
      results = copy_node(site, inputs);
    renaming.note(node, results);
  }
  for (const GraphOutput& output : from.outputs()) to.output(output.name, moved_to(output.value));
  for (const StateUpdate& update : from.updates())
    to.update(moved_to(update.state), moved_to(update.next));
  return to;
}

namespace {

// Symbols of what only running a node tells have its number in their names. Does one of these nodes
// have another place from now on?
bool moves_symbols(const Graph& graph, const std::vector<int>& order) {
  std::set<std::string> known;  // of the sources, whatever their places
  for (const auto& [name, range] : graph.symbols()) known.insert(name);
  for (const Node& node : graph.nodes())
    if (is_source(node))
      for (const Dim& dim : node.types[0].shape)
        for (std::string& each : dim.symbols()) known.insert(std::move(each));
  const auto is_told_by = [&](const Node& node) {
    const auto is_own = [](const auto& host) { return host && host->own_symbols; };
    if (std::any_of(node.host_values.begin(), node.host_values.end(), is_own)) return true;
    for (const TensorType& type : node.types)
      for (const Dim& dim : type.shape) {
        if (dim.is_number() || is_extent_of_operand(dim, node)) continue;
        const std::vector<std::string> symbols = dim.symbols();
        const auto is_known = [&](const std::string& each) { return known.count(each) != 0; };
        if (!std::all_of(symbols.begin(), symbols.end(), is_known)) return true;
      }
    return false;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] == static_cast<int>(i)) continue;
    const Node& node = graph.node(order[i]);
    if (!is_source(node) && is_told_by(node)) return true;
  }
  return false;
}

}  // namespace

Graph with_nodes(Graph from, const std::vector<int>& order) {
  const bool renumbers = moves_symbols(from, order);
  GraphData& data = *from.data();
  std::vector<int> place(data.nodes.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) place[size_t(order[i])] = static_cast<int>(i);
  const auto move = [&](Value& value) {
    if (value.present()) value.node = place[size_t(value.node)];
  };
  Nodes nodes;
  for (const int at : order) {
    nodes.push_back(std::move(data.nodes[size_t(at)]));
    nodes.back().known.reset();
    for (Value& input : nodes.back().inputs) move(input);
  }
  data.nodes = std::move(nodes);
  for (GraphOutput& output : data.outputs) move(output.value);
  data.updated_states.clear();
  for (StateUpdate& update : data.updates) {
    move(update.state);
    move(update.next);
    data.updated_states.insert(update.state.node);
  }
  data.known_elements = 0;
  data.most_nodes = SIZE_MAX;  // it was for who read a file
  if (!renumbers) return from;
  return rebuild(from, [](const RewriteSite&) { return std::nullopt; });
}

std::vector<int> live_of(const Graph& graph, const std::vector<int>& order) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const GraphOutput& output : graph.outputs()) live[size_t(output.value.node)] = true;
  for (const StateUpdate& update : graph.updates())
    live[size_t(update.state.node)] = live[size_t(update.next.node)] = true;
  std::vector<int> found;
  for (size_t i = order.size(); i-- > 0;) {
    const auto at = size_t(order[i]);
    const Node& node = graph.nodes()[at];
    if (!live[at] && !is_input(node) && !is_state(node)) continue;
    found.push_back(order[i]);
    for (const Value& input : node.inputs)
      if (input.present()) live[size_t(input.node)] = true;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace rlx
