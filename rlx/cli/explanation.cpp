#include "rlx/cli/explanation.h"

#include <algorithm>

#include "rlx/compile/build_image.h"
#include "rlx/facade/optimised.h"
#include "rlx/image/uses.h"
#include "rlx/passes/match.h"
#include "rlx/runtime/internals.h"

namespace rlx::cli {
namespace {

using Counts = std::map<std::string, int64_t>;

std::string types_text(const Node& node) {
  std::vector<std::string> types;
  for (const TensorType& type : node.types) types.push_back(text(type));
  return joined(types);
}

// How often each node is there, by what can be told of it without its place; bodies too.
void count_nodes(const Graph& graph, Counts& counts) {
  for (const Node& node : graph.nodes()) {
    const std::string& name = node.name.empty() ? node.origin : node.name;
    if (!is_source(node)) ++counts[text(node.op->name, " '", name, "' ", types_text(node))];
    for (const auto& [attr_name, attr] : node.attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) count_nodes(**body, counts);
  }
}

PassChanges changes_between(const Graph& before, const Graph& after) {
  Counts old_nodes, new_nodes;
  count_nodes(before, old_nodes);
  count_nodes(after, new_nodes);
  const auto more_in = [](const Counts& a, const Counts& b) {
    std::vector<std::string> more;
    for (const auto& [node, times] : a) {
      const auto other = b.find(node);
      for (int64_t i = other == b.end() ? 0 : other->second; i < times; ++i) more.push_back(node);
    }
    return more;
  };
  return {more_in(old_nodes, new_nodes), more_in(new_nodes, old_nodes)};
}

// The ops that are left by name, in bodies too.
void add_names(const Graph& graph, std::set<std::pair<std::string, std::string>>& names) {
  for (const Node& node : graph.nodes()) {
    names.emplace(node.op->name, node.name.empty() ? node.origin : node.name);
    for (const auto& [name, attr] : node.attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) add_names(**body, names);
  }
}

// What another pass found in the end was no miss.
void drop_found(std::vector<PassReport>& passes, const Graph& after) {
  std::set<std::pair<std::string, std::string>> left;
  add_names(after, left);
  for (PassReport& pass : passes)
    std::erase_if(pass.near_misses, [&](const NearMiss& miss) {
      return left.count({miss.op, miss.node}) == 0;
    });
}

const Graph* body_of(const Node& node) {
  for (const auto& [name, attr] : node.attrs)
    if (const auto* body = std::get_if<GraphPtr>(&attr.variant())) return body->get();
  return nullptr;
}

bool is_group(const Node& node) { return node.op->family == "structure" && has_body(node); }

// What a group reads and writes where nothing is fused; of any other node its own.
int64_t unfused_bytes(const Node& node, const Work& work, const SymbolValues& symbols) {
  const Graph* body = is_group(node) ? body_of(node) : nullptr;
  if (!body) return work.read + work.written;
  int64_t bytes = 0;
  const SymbolValues inside = all_symbols(*body, symbols);
  for (const Node& each : body->nodes()) {
    if (each.op->view) continue;
    const Work part = work_of(*body, each, inside);
    bytes += part.read + part.written;
  }
  return bytes;
}

// Bytes of operands that a node, or those of its group, does not read.
int64_t spared_of(const Graph& graph, const Node& node, const SymbolValues& symbols) {
  const Graph* body = is_group(node) ? body_of(node) : nullptr;
  if (!body) return spared_bytes(graph, node, symbols);
  int64_t bytes = 0;
  const SymbolValues inside = all_symbols(*body, symbols);
  for (const Node& each : body->nodes()) bytes += spared_bytes(*body, each, inside);
  return bytes;
}

// Jumps and bindings take none, nor does a copy to where the elements are already.
bool takes_time(const image::Step& step, const image::Image& image) {
  if (const auto* copy = std::get_if<image::Copy>(&step.what)) {
    const auto place = [&](const image::Operand& operand) {
      return image.values[static_cast<size_t>(operand.value)].place;
    };
    return place(copy->source) != place(copy->target);
  }
  return !std::holds_alternative<image::Bind>(step.what) &&
         !std::holds_alternative<image::Jump>(step.what);
}

class StepExplainer {
 public:
  explicit StepExplainer(Explanation& found)
      : found_(found), cells_(detail::cells_of(found.image, found.symbols)) {
    try {
      cells_.evaluate();
    } catch (const Error&) {  // with 1 for a symbol the model may not run
    }
  }

  void explain(const image::Steps& steps, bool once) {
    std::set<int> told;  // nodes whose arithmetic has been given to a step
    for (const image::Step& step : steps) {
      ExplainedStep explained;
      explained.once = once;
      explained.node = step.node;
      explained.what = what_of(step, explained.kernel);
      if (explained.what.empty()) continue;
      add_bytes(step, explained);
      explained.unfused_bytes = explained.work.read + explained.work.written;
      const bool computes = std::holds_alternative<image::Dispatch>(step.what) ||
                            std::holds_alternative<image::Call>(step.what);
      explained.outer = outer_node(step.node);
      if (computes && explained.outer >= 0 && told.insert(explained.outer).second)
        add_node(explained);
      found_.steps.push_back(std::move(explained));
    }
  }

 private:
  // Empty: nothing that takes time.
  std::string what_of(const image::Step& step, int& kernel) const {
    if (const auto* dispatch = std::get_if<image::Dispatch>(&step.what)) {
      kernel = dispatch->choices[0].kernel;
      return found_.image.kernels[static_cast<size_t>(kernel)].name;
    }
    if (const auto* call = std::get_if<image::Call>(&step.what)) return call->op;
    if (!takes_time(step, found_.image)) return "";
    if (std::holds_alternative<image::Copy>(step.what)) return "copy";
    if (std::holds_alternative<image::Clear>(step.what)) return "clear";
    if (std::holds_alternative<image::Write>(step.what)) return "write";
    return "fetch";
  }

  void add_bytes(const image::Step& step, ExplainedStep& explained) const {
    const image::Use use = image::use_of(step, -1);
    const auto bytes = [&](const std::vector<image::ValueId>& values) {
      int64_t sum = 0;
      for (const image::ValueId value : values) {
        if (value < 0) continue;
        const image::Number size = found_.image.values[static_cast<size_t>(value)].bytes;
        if (size != image::kNone && cells_.known(size)) sum += cells_.at(size);
      }
      return sum;
    };
    explained.work.read = bytes(use.reads);
    explained.work.written = bytes(use.writes);
    const auto written = std::find_if(use.writes.begin(), use.writes.end(),
                                      [](image::ValueId value) { return value >= 0; });
    if (written == use.writes.end()) return;
    const image::Value& value = found_.image.values[static_cast<size_t>(*written)];
    std::vector<std::string> dims;
    for (const image::Number dim : value.shape)
      dims.push_back(cells_.known(dim) ? text(cells_.at(dim)) : "?");
    explained.shape = text(name(value.dtype), '[', joined(dims), ']');
  }

  // The node of the graph itself: for a step of a body, which is called "holder/node", the holder.
  int outer_node(int node) const {
    const auto size = static_cast<int>(found_.after.nodes().size());
    if (node < size) return node;
    const std::string& name = found_.image.nodes[static_cast<size_t>(node)].name;
    for (int at = 0; at < size; ++at) {
      const Node& holder = found_.after.node(at);
      if (has_body(holder) && name.rfind(holder.name + "/", 0) == 0) return at;
    }
    return -1;
  }

  void add_node(ExplainedStep& explained) const {
    const Node& node = found_.after.node(explained.outer);
    const Work work = work_of(found_.after, node, found_.symbols);
    explained.work.flops = work.flops;
    if (const int64_t spared = spared_of(found_.after, node, found_.symbols);
        spared < explained.work.read) {
      explained.work.read -= spared;
      explained.unfused_bytes -= spared;
    }
    if (is_group(node)) explained.unfused_bytes = unfused_bytes(node, work, found_.symbols);
  }

  Explanation& found_;
  image::Cells cells_;
};

nlohmann::ordered_json graph_json(const Graph& graph, const SymbolValues& symbols);

nlohmann::ordered_json node_json(const Graph& graph, const Node& node, const SymbolValues& symbols,
                                 bool once) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const Value& input : node.inputs)
    inputs.push_back(input.present() ? nlohmann::ordered_json(input.node) : nullptr);
  nlohmann::ordered_json json{{"op", node.op->name}, {"name", node.name}, {"in", inputs}};
  if (!node.origin.empty() && node.origin != node.name) json["origin"] = node.origin;
  json["type"] = types_text(node);
  if (once) json["once"] = true;
  if (is_source(node)) return json;
  const Work work = work_of(graph, node, symbols);
  json["cost"] = {work.flops, work.read, work.written};
  if (const Graph* body = body_of(node))  // of two branches the first
    json["body"] = graph_json(*body, all_symbols(*body, symbols));
  return json;
}

nlohmann::ordered_json graph_json(const Graph& graph, const SymbolValues& symbols) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array(),
                         outputs = nlohmann::ordered_json::array();
  const MatchGraph known(graph);
  for (size_t at = 0; at < graph.nodes().size(); ++at)
    nodes.push_back(node_json(graph, graph.nodes()[at], symbols,
                              known.is_once(graph.value(static_cast<int>(at)))));
  for (const GraphOutput& output : graph.outputs())
    outputs.push_back({{"name", output.name}, {"node", output.value.node}});
  return {{"nodes", nodes}, {"outputs", outputs}};
}

}  // namespace

std::string summary_of(size_t pass) { return pass_pipeline()[pass]->summary; }

Explanation explain(const Graph& graph, const CompileOptions& options, const InputOptions& inputs) {
  Explanation found;
  found.device = options.device.name();
  found.before = graph.clone();
  const Signature signature = signature_of(graph);
  found.symbols = bound_symbols(signature, inputs);
  for (const std::string& symbol : input_symbols(signature))
    if (found.symbols.emplace(symbol, 1).second) found.unbound.push_back(symbol);
  PassOptions passes{.report = &found.passes, .near_misses = true};
  std::vector<std::pair<const Pass*, PassChanges>> changes;
  passes.watch = [&](const Pass& pass, const Graph& before, const Graph& after) {
    changes.emplace_back(&pass, changes_between(before, after));
  };
  found.after = detail::optimised(graph, options, passes);
  drop_found(found.passes, found.after);
  // A pass that was left out is in the report, and was not watched.
  for (size_t i = 0, watched = 0; i < found.passes.size(); ++i) {
    const bool ran =
        watched < changes.size() && changes[watched].first->name == found.passes[i].name;
    found.changes.push_back(ran ? changes[watched++].second : PassChanges{});
  }
  const DeviceTraits& traits = options.device.traits();
  found.image = detail::build_image(found.after, traits, {{options.choices}, options.strict});
  found.symbols = all_symbols(found.after, all_symbols(graph, found.symbols));
  StepExplainer explainer(found);
  explainer.explain(found.image.once, true);
  explainer.explain(found.image.run, false);
  const image::Image before = detail::build_image(graph, traits, {{options.choices}, false});
  for (const image::Step& step : before.run) found.steps_before += takes_time(step, before);
  const MatchGraph known(graph);
  for (size_t at = 0; at < graph.nodes().size(); ++at) {
    const Node& node = graph.nodes()[at];
    if (!node.op->view && !known.is_once(graph.value(static_cast<int>(at))))
      found.work_before += work_of(graph, node, found.symbols);
  }
  return found;
}

nlohmann::ordered_json explanation_json(const Explanation& found, const std::string& model) {
  using Json = nlohmann::ordered_json;
  Json passes = Json::array(), steps = Json::array(), kernels = Json::array();
  for (size_t i = 0; i < found.passes.size(); ++i) {
    const PassReport& pass = found.passes[i];
    Json misses = Json::array();
    for (const NearMiss& miss : pass.near_misses)
      misses.push_back(
          {{"op", miss.op}, {"node", miss.node}, {"found", miss.found}, {"reason", miss.reason}});
    passes.push_back({{"name", pass.name},
                      {"summary", summary_of(i)},
                      {"changes", pass.changes},
                      {"us", pass.microseconds},
                      {"removed", found.changes[i].removed},
                      {"added", found.changes[i].added},
                      {"misses", std::move(misses)}});
  }
  for (const ExplainedStep& step : found.steps)
    steps.push_back({{"what", step.what},
                     {"node", step.outer},
                     {"kernel", step.kernel},
                     {"once", step.once},
                     {"shape", step.shape},
                     {"cost", {step.work.flops, step.work.read, step.work.written}},
                     {"unfused", step.unfused_bytes}});
  for (const image::Kernel& kernel : found.image.kernels)
    kernels.push_back({{"name", kernel.name}, {"text", kernel.wgsl}});
  return {{"model", model},
          {"device", found.device},
          {"unbound", found.unbound},
          {"passes", std::move(passes)},
          {"before", graph_json(found.before, found.symbols)},
          {"after", graph_json(found.after, found.symbols)},
          {"steps", std::move(steps)},
          {"kernels", std::move(kernels)},
          {"steps_before", found.steps_before},
          {"work_before",
           {found.work_before.flops, found.work_before.read, found.work_before.written}}};
}

}  // namespace rlx::cli
