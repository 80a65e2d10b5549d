// The number that a value consists of, where it is known.

#include <algorithm>
#include <cmath>

#include "rlx/passes/pattern_part.h"

namespace rlx {
namespace {

// Of a constant, if its elements are equal.
std::optional<double> equal_elements(const Tensor& tensor) {
  constexpr int64_t kMost = 4096;  // a mask of one number is as large as scores are
  if (tensor.count() == 0 || tensor.count() > kMost || tensor.dtype() == DType::c64)
    return std::nullopt;
  const double first = tensor.at(0);
  for (int64_t i = 1; i < tensor.count(); ++i)
    if (tensor.at(i) != first) return std::nullopt;
  return first;
}

std::optional<double> number_within(const Value& value, int depth);

// Of an op on single elements, whose operands are numbers.
std::optional<double> computed_number(const Value& value, int depth) {
  const Node& node = value.producer();
  const Dims& shape = value.shape();
  if (!node.op->elementwise || !node.op->elementwise->floating || node.attrs.size() != 0 ||
      !is_float(value.dtype()) ||
      !std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is(1); }))
    return std::nullopt;
  std::vector<double> operands;
  for (const Value& input : node.inputs) {
    const std::optional<double> operand = number_within(input, depth);
    if (!operand || input.dtype() != value.dtype()) return std::nullopt;
    operands.push_back(*operand);
  }
  return Tensor::scalar(value.dtype(), node.op->elementwise->floating(operands.data(), nullptr))
      .at(0);
}

std::optional<double> number_within(const Value& value, int depth) {
  const Node& node = value.producer();
  if (is_constant(node)) return equal_elements(*tensor_of(node));
  if (depth == 0 || is_source(node)) return std::nullopt;
  // A dim of a shape.
  if (const auto& host = node.host_values[size_t(value.result)];
      host && host->elements.size() == 1 && host->elements[0].is_number())
    return static_cast<double>(host->elements[0].number());
  for (const OpDef* view : known_ops().views)
    if (is_op(node, *view)) return number_within(node.inputs[0], depth - 1);
  if (!is_op(node, known_ops().cast)) return computed_number(value, depth - 1);
  const std::optional<double> number = number_within(node.inputs[0], depth - 1);
  if (!number) return std::nullopt;
  return Tensor::scalar(value.dtype(), *number).at(0);
}

}  // namespace

std::optional<double> number_of(const Value& value) {
  constexpr int kDepth = 8;
  return number_within(value, kDepth);
}

bool same_number(double a, double b, DType dtype) {
  if (a == b) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;  // else all are near infinity
  constexpr double kRoundings = 4;
  const double epsilon = is_float(dtype) ? info(dtype).epsilon : 0;
  return std::abs(a - b) <= kRoundings * epsilon * std::max(std::abs(a), std::abs(b));
}

}  // namespace rlx
