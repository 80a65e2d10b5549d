#include "rlx/cli/inspection.h"

#include <algorithm>

#include "rlx/cli/inputs.h"
#include "rlx/codegen/lower_graph.h"
#include "rlx/passes/passes.h"

namespace rlx::cli {
namespace {

int64_t bytes_of_type(const TensorType& type) {
  return count(concrete(type.shape)) * bytes_of(type.dtype);
}

void count_ops(const Graph& graph, std::map<std::string, int64_t>& ops) {
  for (const Node& node : graph.nodes()) {
    if (!is_source(node)) ++ops[node.op->name];
    for (const auto& [name, attr] : node.attrs)
      if (const GraphPtr* body = std::get_if<GraphPtr>(&attr.variant())) count_ops(**body, ops);
  }
}

void describe_graph(const Graph& graph, Inspection& found) {
  for (const Node& node : graph.nodes()) {
    if (is_input(node)) found.inputs.push_back({node.name, node.types[0]});
    if (is_weight(node)) {
      found.weights.push_back({node.name, node.types[0]});
      found.parameters += count(concrete(node.types[0].shape));
      found.weight_bytes += bytes_of_type(node.types[0]);
    }
    if (is_state(node)) {
      found.states.push_back({node.name, node.types[0]});
      found.state_bytes += bytes_of_type(node.types[0]);
    }
  }
  count_ops(graph, found.ops);
  for (const GraphOutput& output : graph.outputs())
    found.outputs.push_back({output.name, output.value.type()});
  for (const std::string& symbol : input_symbols(graph)) {
    const auto bounds = graph.symbols().find(symbol);
    found.symbols[symbol] =
        bounds == graph.symbols().end() ? Interval{0, kUnbounded} : bounds->second;
  }
}

struct StepCounter {
  Inspection& found;
  const std::deque<Node>& nodes;

  void count(const Steps& steps) {
    for (const Step& step : steps.list)
      std::visit([&](const auto& what) { add(what, step.node); }, step.what);
  }
  void add(const Dispatch& dispatch, int) {
    ++found.steps["dispatch"];
    ++found.kernels[dispatch.kernel.name];
  }
  void add(const Copy&, int) { ++found.steps["copy"]; }
  void add(const Clear&, int) { ++found.steps["clear"]; }
  void add(const Host& host, int) {
    ++found.steps["host"];
    found.host_steps.push_back(
        {host.name, host.definition ? host.definition->name : "", host.reason});
  }
  void add(const Fetch& fetch, int node) {
    ++found.steps["fetch"];
    const bool known = node >= 0 && node < static_cast<int>(nodes.size());
    found.host_steps.push_back(
        {"fetch", known ? nodes[static_cast<size_t>(node)].name : "", fetch.reason});
  }
  void add(const Bind&, int) { ++found.steps["bind"]; }
  void add(const If& branch, int) {
    ++found.steps["if"];
    count(branch.then);
    count(branch.otherwise);
  }
  void add(const Loop& loop, int) {
    ++found.steps["loop"];
    count(loop.body);
  }
};

void describe_memory(const Lowered& lowered, const Graph& graph, const DeviceTraits& traits,
                     const SymbolValues& symbols, Inspection& found) {
  found.planned_for = graph.symbols();
  for (const auto& [name, value] : symbols) found.planned_for.emplace(name, Interval{value, value});
  for (const auto& [name, bounds] : found.symbols)
    if (!found.planned_for.count(name)) found.unknown.push_back(name);
  found.plan = plan_memory(lowered, traits, found.planned_for);
  for (size_t v = 0; v < lowered.values.size(); ++v) {
    const LoweredValue& value = lowered.values[v];
    found.value_names.push_back(value.name);
    const bool held = value.kind == ValueKind::weight || value.kind == ValueKind::constant;
    if (held) found.device_weight_bytes += std::max<int64_t>(found.plan.bytes_of[v], 0);
  }
}

nlohmann::ordered_json types_json(const std::vector<NamedType>& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [name, type] : list) json.push_back({{"name", name}, {"type", text(type)}});
  return json;
}

}  // namespace

Inspection inspect(const Graph& graph, const DeviceTraits& traits, const SymbolValues& symbols) {
  Inspection found;
  describe_graph(graph, found);
  found.device = traits.name;
  const Graph optimised = run_passes(graph);
  const Lowered lowered = lower_graph(optimised, traits);
  StepCounter{found, optimised.nodes()}.count(lowered.steps);
  describe_memory(lowered, optimised, traits, symbols, found);
  return found;
}

nlohmann::ordered_json inspection_json(const Inspection& found) {
  using Json = nlohmann::ordered_json;
  Json symbols = Json::object(), host_steps = Json::array();
  for (const auto& [name, bounds] : found.symbols) {
    symbols[name] = {{"min", bounds.low}, {"max", nullptr}};
    if (bounds.high != kUnbounded) symbols[name]["max"] = bounds.high;
  }
  for (const HostStep& step : found.host_steps)
    host_steps.push_back({{"op", step.op}, {"node", step.node}, {"reason", step.reason}});
  return {{"inputs", types_json(found.inputs)},
          {"outputs", types_json(found.outputs)},
          {"weights", types_json(found.weights)},
          {"parameters", found.parameters},
          {"weight_bytes", found.weight_bytes},
          {"states", types_json(found.states)},
          {"state_bytes", found.state_bytes},
          {"symbols", std::move(symbols)},
          {"ops", found.ops},
          {"device", found.device},
          {"steps", found.steps},
          {"kernels", found.kernels},
          {"host_steps", std::move(host_steps)},
          {"memory",
           {{"slots", found.plan.slot_bytes},
            {"peak_bytes", found.plan.peak_bytes},
            {"weight_bytes", found.device_weight_bytes},
            {"unknown_symbols", found.unknown}}}};
}

}  // namespace rlx::cli
