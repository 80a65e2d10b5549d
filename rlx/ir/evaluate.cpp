#include "rlx/ir/evaluate.h"

#include <algorithm>
#include <new>
#include <span>

#include "rlx/ir/known.h"

namespace rlx {
namespace {

constexpr std::string_view kUnknown = "unknown.";

// Is there an extent that only the op itself can tell?
bool has_unknown(const Dims& shape) {
  for (const Dim& dim : shape)
    for (const std::string& symbol : dim.symbols())
      if (symbol.rfind(kUnknown, 0) == 0) return true;
  return false;
}

// The concrete result types of a node whose operands are at hand. Where the op itself must tell
// (a data-dependent extent), the type stays symbolic.
Types concrete_types(const Node& node, const std::vector<const Tensor*>& inputs,
                     SymbolValues& symbols) {
  std::deque<TensorType> types;
  std::deque<HostValue> hosts;
  std::vector<const TensorType*> type_refs;
  std::vector<const HostValue*> host_refs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    type_refs.push_back(inputs[i] ? &types.emplace_back(inputs[i]->type()) : nullptr);
    host_refs.push_back(nullptr);
    if (!inputs[i] || !has_host_elements(inputs[i]->type())) continue;
    for (const size_t host_input : node.op->host_inputs)
      if (host_input == i) host_refs.back() = &hosts.emplace_back(*host_value_of(*inputs[i]));
  }
  int unknown = 0;
  const auto fresh = [&] { return Dim(text(kUnknown, unknown++)); };
  Inferred inferred = infer_types(*node.op, type_refs, host_refs, node.attrs, fresh);
  for (const DimCheck& check : inferred.checks) check.require_under(symbols);
  return inferred.types;
}

// The types that a node has had since it was added; none where a symbol is told by nobody.
std::optional<Types> types_of(const Node& node, const SymbolValues& symbols) {
  for (const TensorType& type : node.types)
    if (!is_bound(type.shape, symbols)) return std::nullopt;
  for (const DimCheck& check : node.checks) {
    if (!is_bound({check.a, check.b}, symbols)) return std::nullopt;
    check.require_under(symbols);
  }
  return node.types;
}

// What is computed by the types of nodes must be of these types: a graph may be from a file.
void require_types(const Node& node, const std::vector<Tensor>& results,
                   const SymbolValues& symbols) {
  for (size_t r = 0; r < results.size(); ++r) {
    const TensorType& type = node.types[r];
    const bool same = results[r].dtype() == type.dtype && is_bound(type.shape, symbols) &&
                      bound(type.shape, symbols) == results[r].shape();
    require(same, node.op->name, ": '", node.name, "' is ", type, ", and it was given ",
            results[r].type());
  }
}

// Symbols that this node's results introduced get their values.
void bind_results(const Node& node, const std::vector<Tensor>& results, SymbolValues& symbols) {
  for (size_t r = 0; r < results.size(); ++r) {
    for (size_t d = 0; d < node.types[r].shape.size(); ++d)
      if (const auto symbol = node.types[r].shape[d].symbol())
        symbols.emplace(*symbol, results[r].shape()[d]);
    if (!node.host_values[r]) continue;
    const auto& elements = node.host_values[r]->elements;
    for (size_t i = 0; i < elements.size(); ++i)
      if (const auto symbol = elements[i].symbol())
        symbols.emplace(*symbol, results[r].integer_at(static_cast<int64_t>(i)));
  }
}

std::vector<Tensor> run_node(const Node& node, const std::vector<const Tensor*>& inputs,
                             const EvaluateOptions& options, SymbolValues& symbols) {
  std::vector<Tensor> results;
  std::optional<Types> types = options.as_added ? types_of(node, symbols) : std::nullopt;
  if (!types) types = concrete_types(node, inputs, symbols);
  for (const TensorType& type : *types) {
    const bool op_tells = !is_bound(type.shape, symbols) && has_unknown(type.shape);
    results.push_back(op_tells ? Tensor(type.dtype, Shape{0})
                               : Tensor(type.dtype, bound(type.shape, symbols)));
    if (!options.used_memory) continue;
    const std::span<std::byte> bytes = results.back().mutable_bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0x7f});
  }
  require(static_cast<bool>(node.op->reference), node.op->name, ": has no reference");
  node.op->reference({*node.op, inputs, node.attrs, results, symbols});
  bind_results(node, results, symbols);
  if (options.as_added) require_types(node, results, symbols);
  return results;
}

Tensor source_tensor(const Node& node, const TensorMap& inputs, const EvaluateOptions& options,
                     SymbolValues& symbols) {
  const TensorType& type = node.types[0];
  if (is_state(node)) {
    if (options.states)
      if (const auto found = options.states->find(node.name); found != options.states->end())
        return found->second;
    if (const Tensor* initial = initial_of(node)) return *initial;
    return {type.dtype, concrete(type.shape)};
  }
  if (const Tensor* tensor = tensor_of(node)) return *tensor;
  const auto found = inputs.find(node.name);
  if (found == inputs.end())
    fail(ErrorKind::invalid_input, "run: ", node.op->name, " '", node.name, "' is missing");
  bind_input(node.name, type, found->second.type(), symbols);
  return found->second;
}

}  // namespace

void bind_input(const std::string& name, const TensorType& type, const TensorType& tensor,
                SymbolValues& symbols) {
  const auto differ = [&](const std::string& why) {
    fail(ErrorKind::invalid_input, "run: input '", name, "' is ", tensor, ", the graph wants ",
         type, why);
  };
  if (tensor.dtype != type.dtype || tensor.shape.size() != type.shape.size()) differ("");
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const int64_t extent = tensor.shape[i].number();
    if (const auto symbol = type.shape[i].symbol()) {
      const auto [at, added] = symbols.emplace(*symbol, extent);
      if (at->second != extent) differ(text(", and '", *symbol, "' is ", at->second, " elsewhere"));
    } else if (type.shape[i].is_number() && type.shape[i].number() != extent) {
      differ("");
    }
  }
}

Evaluation evaluate(const Graph& graph, const TensorMap& inputs, const EvaluateOptions& options) {
  SymbolValues symbols;
  for (const Node& node : graph.nodes())
    if (is_input(node))
      if (const auto found = inputs.find(node.name); found != inputs.end())
        bind_input(node.name, node.types[0], found->second.type(), symbols);
  if (options.symbols) symbols.insert(options.symbols->begin(), options.symbols->end());
  std::vector<std::vector<Tensor>> results;
  for (const Node& node : graph.nodes()) {
    try {
      if (is_source(node)) {
        results.push_back({source_tensor(node, inputs, options, symbols)});
        bind_results(node, results.back(), symbols);
        if (options.as_added) require_types(node, results.back(), symbols);
        continue;
      }
      std::vector<const Tensor*> operands;
      for (const Value& input : node.inputs)
        operands.push_back(input.present() ? &results[size_t(input.node)][size_t(input.result)]
                                           : nullptr);
      results.push_back(run_node(node, operands, options, symbols));
    } catch (Error& error) {
      error.add_note(text("at node '", node.name, "'"));
      throw;
    } catch (const std::bad_alloc&) {
      fail(ErrorKind::out_of_memory, node.op->name, ": the host has no memory to compute ",
           joined(node.types), "\n  at node '", node.name, "'");
    }
  }
  const auto at = [&](Value value) { return results[size_t(value.node)][size_t(value.result)]; };
  Evaluation evaluation;
  for (const GraphOutput& output : graph.outputs())
    evaluation.outputs.emplace(output.name, at(output.value));
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    if (is_state(graph.nodes()[i])) evaluation.states[graph.nodes()[i].name] = results[i][0];
  for (const StateUpdate& update : graph.updates())
    evaluation.states[update.state.producer().name] = at(update.next);
  if (options.keep_results) evaluation.results = std::move(results);
  return evaluation;
}

std::vector<Tensor> evaluate_body(const Graph& body, const std::vector<Tensor>& inputs,
                                  const SymbolValues* symbols) {
  TensorMap named;
  size_t next = 0;
  for (const Node& node : body.nodes())
    if (is_input(node)) named[node.name] = inputs.at(next++);
  Evaluation evaluation = evaluate(body, named, {.symbols = symbols, .as_added = true});
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : body.outputs())
    outputs.push_back(evaluation.outputs.at(output.name));
  return outputs;
}

}  // namespace rlx
