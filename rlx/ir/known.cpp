#include "rlx/ir/known.h"

#include <algorithm>
#include <cctype>

namespace rlx {
namespace {

bool is_small(const TensorType& type) {
  return is_concrete(type.shape) && count(concrete(type.shape)) <= kMostKnownElements;
}

// Elements that infer found as numbers: the shape of a tensor whose extents are numbers.
std::optional<Tensor> numbers_of(const Node& node, size_t result) {
  const std::optional<HostValue>& host = node.host_values[result];
  if (!host || host->own_symbols) return std::nullopt;
  Tensor tensor(node.types[result].dtype, host->shape);
  for (size_t i = 0; i < host->elements.size(); ++i) {
    if (!host->elements[i].is_number()) return std::nullopt;
    tensor.set_integer(static_cast<int64_t>(i), host->elements[i].number());
  }
  return tensor;
}

bool may_be_known(const Node& node) {
  return !is_source(node) && node.op->reference && !has_body(node) && !node.inputs.empty() &&
         std::all_of(node.types.begin(), node.types.end(), is_small);
}

// The results of a node; empty where they are not known. Its operands have been decided.
std::vector<Tensor> results_of(const Node& node) {
  std::vector<Tensor> results;
  for (size_t r = 0; r < node.types.size(); ++r)
    if (std::optional<Tensor> numbers = numbers_of(node, r)) results.push_back(std::move(*numbers));
  if (results.size() == node.types.size()) return results;
  results.clear();
  if (!may_be_known(node)) return results;
  std::deque<Tensor> tensors;
  std::vector<const Tensor*> operands;
  for (const Value& input : node.inputs) {
    operands.push_back(nullptr);
    if (!input.present()) continue;
    std::optional<Tensor> known = known_tensor(input);
    if (!known) return {};
    operands.back() = &tensors.emplace_back(known->aligned());  // a file may have it anywhere
  }
  for (const TensorType& type : node.types) results.emplace_back(type.dtype, concrete(type.shape));
  const SymbolValues none;
  try {
    node.op->reference({*node.op, operands, node.attrs, results, none});
  } catch (const Error&) {
    return {};  // the run says what is wrong, if it gets there
  }
  for (size_t r = 0; r < results.size(); ++r)
    if (results[r].type() != node.types[r]) return {};
  return results;
}

}  // namespace

bool has_host_elements(const TensorType& type) {
  return (is_integer(type.dtype) || type.dtype == DType::boolean) && is_small(type);
}

std::optional<HostValue> host_value_of(const Tensor& tensor) {
  if (!has_host_elements(tensor.type())) return std::nullopt;
  HostValue host{tensor.shape(), {}};
  for (int64_t i = 0; i < tensor.count(); ++i) host.elements.emplace_back(tensor.integer_at(i));
  return host;
}

std::optional<Tensor> known_tensor(Value value) {
  if (is_constant(value.producer())) return *tensor_of(value.producer());
  auto& nodes = value.graph->nodes;
  const auto at = [&](int node) -> Node& { return nodes[static_cast<size_t>(node)]; };
  std::vector<int> open{value.node};
  while (!open.empty()) {  // operands first, however deep a graph is
    Node& node = at(open.back());
    const size_t before = open.size();
    if (!node.known && may_be_known(node) && !numbers_of(node, 0))
      for (const Value& input : node.inputs)
        if (input.present() && !is_source(input.producer()) && !input.producer().known)
          open.push_back(input.node);
    if (open.size() != before) continue;
    if (!node.known) {
      node.known = results_of(node);
      for (const Tensor& tensor : *node.known) value.graph->known_elements += tensor.count();
    }
    open.pop_back();
  }
  const std::vector<Tensor>& known = *at(value.node).known;
  if (known.empty()) return std::nullopt;
  return known[static_cast<size_t>(value.result)];
}

void learn_elements(Value value) {
  Node& node = value.graph->nodes[static_cast<size_t>(value.node)];
  std::optional<HostValue>& host = node.host_values[static_cast<size_t>(value.result)];
  if (host || !has_host_elements(value.type())) return;
  if (const std::optional<Tensor> known = known_tensor(value)) host = host_value_of(*known);
}

namespace {

constexpr std::string_view kUntold = "untold.";

// What is known of the elements of a value where it is not of all its operands': the numbers that
// are joined with what only a run tells. The others mention symbols that begin with kUntold.
std::optional<HostValue> partly_known(const Node& node) {
  if (!node.op->symbolic || node.types.size() != 1) return std::nullopt;
  std::vector<const TensorType*> types;
  std::vector<const HostValue*> hosts;
  std::deque<HostValue> untold;
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& input = node.inputs[i];
    types.push_back(input.present() ? &input.type() : nullptr);
    hosts.push_back(nullptr);
    if (!input.present()) continue;
    const auto& host = input.producer().host_values[static_cast<size_t>(input.result)];
    any |= host.has_value();
    if (host) {
      hosts.back() = &*host;
    } else if (has_host_elements(input.type())) {
      HostValue& made = untold.emplace_back(HostValue{concrete(input.type().shape), {}});
      for (int64_t e = 0; e < count(made.shape); ++e)
        made.elements.emplace_back(text(kUntold, i, '.', e));
      hosts.back() = &made;
    }
  }
  if (!any) return std::nullopt;
  const auto fresh = [] { return Dim(text(kUntold, "extent")); };
  return infer_types(*node.op, types, hosts, node.attrs, fresh).host_values[0];
}

bool is_told(const Dim& element) {
  const std::vector<std::string> symbols = element.symbols();
  return std::none_of(symbols.begin(), symbols.end(),
                      [](const std::string& symbol) { return symbol.rfind(kUntold, 0) == 0; });
}

}  // namespace

void make_symbols(Value value) {
  Node& node = value.graph->nodes[static_cast<size_t>(value.node)];
  const TensorType& type = value.type();
  if (!has_host_elements(type)) return;
  // An input has its own name, unless that is how a node would be called.
  const bool like_a_node = node.name.size() > 1 && node.name[0] == 'v' &&
                           std::isdigit(static_cast<unsigned char>(node.name[1]));
  const bool named = is_input(node) && is_symbol_name(node.name) && !like_a_node;
  const std::string prefix =
      value.graph->host_prefix + (named ? node.name
                                        : text('v', value.node, value.result ? "r" : "",
                                               value.result ? text(value.result) : ""));
  HostValue host{concrete(type.shape), {}, true};
  const int64_t elements = count(host.shape);
  const std::optional<HostValue> partly = partly_known(node);
  for (int64_t i = 0; i < elements; ++i) {
    const Dim* known = partly ? &partly->elements[static_cast<size_t>(i)] : nullptr;
    host.elements.push_back(
        known && is_told(*known) && known->is_number() ? *known : Dim(text(prefix, '.', i)));
  }
  node.host_values[static_cast<size_t>(value.result)] = std::move(host);
}

}  // namespace rlx
