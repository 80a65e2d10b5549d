#include "rlx/plan/binding.h"

#include <algorithm>
#include <set>

#include "rlx/lower/host_values.h"

namespace rlx {
namespace {

// Binds the pure symbols of `elements` to a tensor's elements.
void bind_elements(const std::optional<HostValue>& host, const Tensor& tensor,
                   SymbolValues& symbols) {
  if (!host || !host->own_symbols) return;
  for (size_t i = 0; i < host->elements.size(); ++i)
    if (const auto symbol = host->elements[i].symbol())
      symbols.insert_or_assign(*symbol, tensor.integer_at(static_cast<int64_t>(i)));
}

void check_range(const Graph& graph, const SymbolValues& symbols) {
  for (const auto& [name, range] : graph.symbols()) {
    const auto found = symbols.find(name);
    if (found == symbols.end()) continue;
    if (found->second < range.low || found->second > range.high)
      fail(ErrorKind::invalid_input, "run: symbol '", name, "' is ", found->second,
           ", the graph allows ", range.low, " to ", range.high);
  }
}

// Nodes that must run on the host so that symbols of host operands get values.
std::vector<int> nodes_to_evaluate(const Graph& graph) {
  const std::vector<bool> bindable = bindable_nodes(graph);
  const int size = static_cast<int>(graph.nodes().size());
  std::vector<bool> needed(size_t(size), false);
  for (int at = size; at-- > 0;) {
    const Node& node = graph.node(at);
    const bool symbols = std::any_of(node.host_values.begin(), node.host_values.end(),
                                     [](const auto& host) { return host && host->own_symbols; });
    if (is_source(node) || !bindable[size_t(at)]) continue;
    if (symbols) needed[size_t(at)] = true;
    if (!needed[size_t(at)]) continue;
    for (const Value& input : node.inputs)
      if (input.present() && bindable[size_t(input.node)]) needed[size_t(input.node)] = true;
  }
  std::vector<int> nodes;
  for (int at = 0; at < size; ++at)
    if (needed[size_t(at)] && !is_source(graph.node(at))) nodes.push_back(at);
  return nodes;
}

std::vector<int> nodes_that_introduce(const Graph& graph) {
  std::set<std::string> seen;
  for (const Node& node :
       graph.nodes())  // an input may bind what an earlier node's attribute names
    if (is_input(node))
      for (const Dim& dim : node.types[0].shape)
        for (const std::string& name : dim.symbols()) seen.insert(name);
  std::vector<int> nodes;
  int at = 0;
  for (const Node& node : graph.nodes()) {
    bool introduces = false;
    for (const TensorType& type : node.types)
      for (const Dim& dim : type.shape)
        for (const std::string& name : dim.symbols()) introduces |= seen.insert(name).second;
    for (const auto& host : node.host_values)
      if (host)
        for (const Dim& dim : host->elements)
          for (const std::string& name : dim.symbols()) seen.insert(name);
    if (introduces) nodes.push_back(at);
    ++at;
  }
  return nodes;
}

}  // namespace

Binder::Binder(const Graph& graph, std::vector<GraphPtr> bodies)
    : graph_(graph), bodies_(std::move(bodies)) {
  work_.push_back({&graph, nodes_to_evaluate(graph), nodes_that_introduce(graph)});
  for (size_t i = 0; i < bodies_.size(); ++i)
    work_.push_back({bodies_[i].get(), {}, nodes_that_introduce(*bodies_[i]), running_symbol(i)});
}

void Binder::bind_inputs(const TensorMap& inputs,
                         const std::map<std::string, TensorType>& elsewhere,
                         Binding& binding) const {
  int at = -1;
  for (const Node& node : graph_.nodes()) {
    ++at;
    if (!is_input(node)) continue;
    if (const auto there = elsewhere.find(node.name); there != elsewhere.end())
      bind_input(node.name, node.types[0], there->second, binding.symbols);
    const auto found = inputs.find(node.name);
    if (found == inputs.end()) continue;
    bind_input(node.name, node.types[0], found->second.type(), binding.symbols);
    bind_elements(node.host_values[0], found->second, binding.symbols);
    binding.host_tensors.insert_or_assign({at, 0}, found->second);
  }
  for (const Node& node :
       graph_.nodes()) {  // dims that are expressions, now that symbols are known
    if (!is_input(node)) continue;
    const auto there = elsewhere.find(node.name);
    if (there == elsewhere.end() && !inputs.count(node.name)) continue;
    const TensorType given = there != elsewhere.end() ? there->second : inputs.at(node.name).type();
    for (size_t d = 0; d < node.types[0].shape.size(); ++d) {
      const Dim& dim = node.types[0].shape[d];
      if (!dim.is_number() && is_bound(dim, binding.symbols) &&
          !given.shape[d].is(dim.value(binding.symbols)))
        fail(ErrorKind::invalid_input, "run: input '", node.name, "' is ", given,
             ", the graph wants ", node.types[0], ", where ", dim, " is ",
             dim.value(binding.symbols));
    }
  }
  check_range(graph_, binding.symbols);
}

bool Binder::is_running(const GraphWork& work, const Binding& binding) {
  return work.running.empty() || binding.symbols.count(work.running) != 0;
}

void Binder::evaluate_node(const GraphWork& work, int at, Binding& binding) const {
  if (binding.host_tensors.count({at, 0})) return;
  const Node& node = work.graph->node(at);
  std::vector<const Tensor*> operands;
  for (const Value& input : node.inputs) {
    if (!input.present()) {
      operands.push_back(nullptr);
      continue;
    }
    const Node& producer = input.producer();
    const auto& host = producer.host_values[size_t(input.result)];
    auto found = binding.host_tensors.find({input.node, input.result});
    if (found == binding.host_tensors.end() && is_constant(producer))
      found = binding.host_tensors.emplace(std::pair(input.node, 0), *tensor_of(producer)).first;
    if (found == binding.host_tensors.end() && host) {  // known as expressions only
      Tensor tensor(input.dtype(), host->shape);
      for (size_t i = 0; i < host->elements.size(); ++i) {
        if (!is_bound(host->elements[i], binding.symbols)) return;
        tensor.set_integer(static_cast<int64_t>(i), host->elements[i].value(binding.symbols));
      }
      found = binding.host_tensors.emplace(std::pair(input.node, input.result), tensor).first;
    }
    if (found == binding.host_tensors.end()) return;  // a step will tell
    operands.push_back(&found->second);
  }
  std::vector<Tensor> results;
  for (const TensorType& type : node.types)
    results.emplace_back(type.dtype, bound(type.shape, binding.symbols));
  node.op->reference({*node.op, operands, node.attrs, results, binding.symbols});
  for (size_t r = 0; r < results.size(); ++r) {
    bind_elements(node.host_values[r], results[r], binding.symbols);
    binding.host_tensors.insert_or_assign({at, static_cast<int>(r)}, results[r]);
  }
}

void Binder::introduce_symbols(const GraphWork& work, int at, Binding& binding) const {
  const Node& node = work.graph->node(at);
  std::vector<TensorType> types(node.inputs.size());
  std::vector<HostValue> hosts(node.inputs.size());
  std::vector<const TensorType*> type_refs(node.inputs.size());
  std::vector<const HostValue*> host_refs(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& input = node.inputs[i];
    if (!input.present()) continue;
    if (!is_bound(input.shape(), binding.symbols)) return;
    types[i] = {input.dtype(), bound(input.shape(), binding.symbols)};
    type_refs[i] = &types[i];
    const auto& host = input.producer().host_values[size_t(input.result)];
    if (!host) continue;
    hosts[i].shape = host->shape;
    for (const Dim& element : host->elements) {
      if (!is_bound(element, binding.symbols)) return;
      hosts[i].elements.emplace_back(element.value(binding.symbols));
    }
    host_refs[i] = &hosts[i];
  }
  int unknown = 0;
  const auto fresh = [&] { return ++unknown, Dim("unknown"); };
  try {
    const Inferred inferred = infer_types(*node.op, type_refs, host_refs, node.attrs, fresh);
    if (unknown > 0) return;  // the data will tell
    for (size_t r = 0; r < node.types.size(); ++r)
      for (size_t d = 0; d < node.types[r].shape.size(); ++d)
        if (const auto symbol = node.types[r].shape[d].symbol();
            symbol && inferred.types[r].shape[d].is_number())
          binding.symbols.insert_or_assign(*symbol, inferred.types[r].shape[d].number());
  } catch (Error& error) {
    if (!is_running(work, binding)) return;  // and perhaps never will
    error.add_note(text("at node '", node.name, "'"));
    throw Error(ErrorKind::invalid_input, error.what());
  }
}

void Binder::resolve(Binding& binding) const {
  for (const GraphWork& work : work_) {
    // In the order of the nodes: either kind may need what the other bound.
    size_t next_evaluate = 0, next_introduce = 0;
    while (next_evaluate < work.evaluate.size() || next_introduce < work.introduce.size()) {
      const bool evaluate = next_introduce == work.introduce.size() ||
                            (next_evaluate < work.evaluate.size() &&
                             work.evaluate[next_evaluate] < work.introduce[next_introduce]);
      if (evaluate)
        evaluate_node(work, work.evaluate[next_evaluate++], binding);
      else
        introduce_symbols(work, work.introduce[next_introduce++], binding);
    }
    if (!is_running(work, binding)) continue;
    for (const Node& node : work.graph->nodes())
      for (const DimCheck& check : node.checks) {
        if (!is_bound(check.a, binding.symbols) || !is_bound(check.b, binding.symbols)) continue;
        try {
          check.require_under(binding.symbols);
        } catch (Error& error) {
          error.add_note(text("at node '", node.name, "'"));
          throw;
        }
      }
  }
}

}  // namespace rlx
