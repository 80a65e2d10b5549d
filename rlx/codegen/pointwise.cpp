#include "rlx/codegen/pointwise.h"

#include <algorithm>

#include "rlx/codegen/scalar_formula.h"

namespace rlx {

std::optional<Layout> layout_of_part(const Node& node, const Layout& input) {
  if (!node.op->view || node.inputs.empty() || !node.inputs[0].present()) return std::nullopt;
  if (node.inputs[0].dtype() != node.types[0].dtype) return std::nullopt;
  std::vector<const TensorType*> types;
  std::vector<const HostValue*> hosts;
  for (const Value& operand : node.inputs) {
    types.push_back(operand.present() ? &operand.type() : nullptr);
    const auto* known =
        operand.present() ? &operand.producer().host_values[size_t(operand.result)] : nullptr;
    hosts.push_back(known && known->has_value() ? &**known : nullptr);
  }
  const InferSite infer{*node.op, types, node.attrs, hosts, {}};
  return node.op->view({infer, node.types[0], input});
}

namespace {

// Of one of all elements.
std::optional<Layout> layout_of_view(const Node& node, const Layout& input) {
  if (!node.op->view || node.inputs.empty() || !node.inputs[0].present()) return std::nullopt;
  if (!(count(node.inputs[0].shape()) == count(node.types[0].shape))) return std::nullopt;
  return layout_of_part(node, input);
}

}  // namespace

bool gives_view(const Node& node) {
  return !is_source(node) && !node.inputs.empty() && node.inputs[0].present() &&
         layout_of_part(node, Layout::row_major(node.inputs[0].shape())).has_value();
}

bool keeps_order(const Node& node) {
  if (is_source(node) || node.inputs.empty() || !node.inputs[0].present()) return false;
  const auto layout = layout_of_view(node, Layout::row_major(node.inputs[0].shape()));
  return layout && *layout == Layout::row_major(node.types[0].shape);
}

std::optional<Dims> permuted_strides(const Node& node) {
  if (is_source(node) || node.inputs.empty() || !node.inputs[0].present()) return std::nullopt;
  const Dims& shape = node.inputs[0].shape();
  // Each axis of the operand gets a stride of its own, and is found again by it.
  Layout marked;
  for (size_t d = 0; d < shape.size(); ++d) marked.strides.emplace_back(text("axis", d));
  const Dims& result = node.types[0].shape;
  if (result.size() != shape.size() || keeps_order(node)) return std::nullopt;
  const auto layout = layout_of_view(node, marked);
  if (!layout || !layout->offset.is(0)) return std::nullopt;
  const Dims whole = strides_of(result);
  Dims strides(shape.size(), Dim(0));
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) continue;  // it lies anywhere
    const auto at = std::find(layout->strides.begin(), layout->strides.end(), marked.strides[d]);
    const auto axis = static_cast<size_t>(at - layout->strides.begin());
    if (axis == result.size() || !(result[axis] == shape[d])) return std::nullopt;
    strides[d] = whole[axis];
  }
  return strides;
}

bool copies_permuted(const Node& node) {
  if (!keeps_order(node)) return false;
  const Value x = node.inputs[0];
  if (is_source(x.producer()) || !permuted_strides(x.producer())) return false;
  const Node& inner = x.producer();
  const auto layout = layout_of_view(inner, Layout::row_major(inner.inputs[0].shape()));
  return layout && !layout_of_view(node, *layout);
}

bool is_pointwise(const Node& node) {
  if (is_source(node) || node.types.size() != 1) return false;
  return (keeps_order(node) || (scalar_formula(node) && scalar_host_reason(node).empty()));
}

}  // namespace rlx
