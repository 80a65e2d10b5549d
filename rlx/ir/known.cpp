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
  for (int64_t i = 0; i < elements; ++i) host.elements.emplace_back(text(prefix, '.', i));
  node.host_values[static_cast<size_t>(value.result)] = std::move(host);
}

}  // namespace rlx
