#include "rlx/cli/inspection.h"

#include <algorithm>

#include "rlx/cli/inputs.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/internals.h"

namespace rlx::cli {

using namespace detail;
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
  for (const std::string& symbol : input_symbols(signature_of(graph))) {
    const auto bounds = graph.symbols().find(symbol);
    found.symbols[symbol] =
        bounds == graph.symbols().end() ? Interval{0, kUnbounded} : bounds->second;
  }
}

struct StepCounter {
  Inspection& found;
  const image::Image& image;

  void count(const image::Steps& steps) {
    for (const image::Step& step : steps)
      std::visit([&](const auto& what) { add(what, step.node); }, step.what);
  }
  std::string name_of(int32_t node) const {
    return node < 0 ? "" : image.nodes[static_cast<size_t>(node)].name;
  }
  void add(const image::Dispatch& dispatch, int32_t) {
    ++found.steps["dispatch"];
    ++found.kernels[image.kernels[static_cast<size_t>(dispatch.choices[0].kernel)].name];
  }
  void add(const image::Copy& copy, int32_t) {
    const auto place = [&](image::ValueId v) { return image.values[static_cast<size_t>(v)].place; };
    if (place(copy.source.value) != place(copy.target.value)) ++found.steps["copy"];
  }
  void add(const image::Clear&, int32_t) { ++found.steps["clear"]; }
  void add(const image::Write&, int32_t) { ++found.steps["write"]; }
  void add(const image::Call& call, int32_t node) {
    ++found.steps["host"];
    found.host_steps.push_back({call.op, name_of(node), call.reason});
  }
  void add(const image::Fetch& fetch, int32_t node) {
    ++found.steps["fetch"];
    found.host_steps.push_back({"fetch", name_of(node), fetch.reason});
  }
  void add(const image::Bind&, int32_t) { ++found.steps["bind"]; }
  void add(const image::Jump&, int32_t) { ++found.steps["jump"]; }
};

void describe_memory(const image::Image& image, const Graph& graph, const SymbolValues& symbols,
                     Inspection& found) {
  found.planned_for = graph.symbols();
  for (const auto& [name, value] : symbols) found.planned_for.emplace(name, Interval{value, value});
  for (const auto& [name, bounds] : found.symbols)
    if (!found.planned_for.count(name)) found.unknown.push_back(name);
  found.plan = plan_memory(image, detail::cells_of(image, symbols));
  for (size_t v = 0; v < image.values.size(); ++v) {
    const image::Value& value = image.values[v];
    const int64_t bytes = std::max<int64_t>(found.plan.bytes_of[v], 0);
    found.value_names.push_back(value.name);
    const bool held = value.kind == image::Kind::weight || value.kind == image::Kind::constant;
    if (held && !value.once_only && !value.on_host) found.device_weight_bytes += bytes;
    if (value.kind == image::Kind::once) found.once_bytes += bytes;
    if (value.once_only) found.once_source_bytes += bytes;
  }
}

nlohmann::ordered_json types_json(const std::vector<NamedType>& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [name, type] : list) json.push_back({{"name", name}, {"type", text(type)}});
  return json;
}

}  // namespace

Inspection inspect(const Graph& graph, const CompileOptions& options, const SymbolValues& symbols) {
  Inspection found;
  describe_graph(graph, found);
  found.device = options.device.traits().name;
  const Image compiled = compile_image(graph, options);
  const image::Image& image = compiled.data();
  StepCounter{found, image}.count(image.run);
  found.once_steps = static_cast<int64_t>(image.once.size());
  describe_memory(image, graph, symbols, found);
  const image::Holdings holdings = holdings_of(options.device, compiled, catalog(), symbols);
  found.packed_bytes = holdings.packed_bytes();
  found.widened_bytes = holdings.widened_bytes();
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
          {"once_steps", found.once_steps},
          {"memory",
           {{"slots", found.plan.slot_bytes},
            {"peak_bytes", found.plan.peak_bytes},
            {"live_bytes", found.plan.live_bytes},
            {"weight_bytes", found.device_weight_bytes},
            {"packed_bytes", found.packed_bytes},
            {"widened_bytes", found.widened_bytes},
            {"once_bytes", found.once_bytes},
            {"once_source_bytes", found.once_source_bytes},
            {"unknown_symbols", found.unknown}}}};
}

}  // namespace rlx::cli
