#include "rlx/backend/cpu/fast_ops.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "rlx/backend/cpu/onednn.h"

namespace rlx {
namespace {

// y[rows, columns] = a[rows, inner] . b, row by row, so that the innermost loop runs along memory.
void multiply(const float* a, const float* b, float* y, int64_t rows, int64_t inner,
              int64_t columns, bool transposed_b) {
  for (int64_t r = 0; r < rows; ++r, a += inner, y += columns) {
    if (transposed_b) {
      for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) sum += static_cast<double>(a[k]) * b[c * inner + k];
        y[c] = static_cast<float>(sum);
      }
      continue;
    }
    std::fill(y, y + columns, 0.0f);
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t c = 0; c < columns; ++c) y[c] += a[k] * b[k * columns + c];
  }
}

// f32 matrices, the second one perhaps transposed, where there is no oneDNN.
bool plain_matmul(const Tensor& a, const Tensor& b, bool transpose_b, Tensor& y) {
  if (a.dtype() != DType::f32 || a.shape().size() < 2 || b.shape().size() != 2 || y.count() == 0)
    return false;
  const int64_t columns = y.shape().back();
  multiply(a.data<float>().data(), b.data<float>().data(), y.mutable_data<float>().data(),
           y.count() / columns, a.shape().back(), columns, transpose_b);
  return true;
}

bool fast_matmul(const Node& node, const std::vector<const Tensor*>& inputs,
                 std::vector<Tensor>& results) {
  const bool transpose_a = node.attrs.get<bool>("transpose_a"),
             transpose_b = node.attrs.get<bool>("transpose_b");
  return onednn_matmul(*inputs[0], transpose_a, *inputs[1], transpose_b, nullptr, results[0]) ||
         (!transpose_a && plain_matmul(*inputs[0], *inputs[1], transpose_b, results[0]));
}

// The activations that are fused into products most; each in double, as the reference has it.
struct Activation {
  std::string_view name;
  double (*of)(double x);
};
constexpr Activation kActivations[] = {
    {"", [](double x) { return x; }},
    {"relu", [](double x) { return x > 0 || x != x ? x : 0; }},
    {"gelu", [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
    {"tanh", [](double x) { return std::tanh(x); }},
};
const Activation* activation_of(const Node& node) {
  const auto& name = node.attrs.get<std::string>("activation");
  for (const Activation& activation : kActivations)
    if (activation.name == name) return &activation;
  return nullptr;
}
void activate(const Activation& activation, Tensor& y) {
  if (activation.name.empty()) return;
  for (float& element : y.mutable_data<float>())
    element = static_cast<float>(activation.of(static_cast<double>(element)));
}

bool fast_linear(const Node& node, const std::vector<const Tensor*>& inputs,
                 std::vector<Tensor>& results) {
  const Activation* activation = activation_of(node);
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  if (!activation || !onednn_matmul(*inputs[0], false, *inputs[1],
                                    node.attrs.get<bool>("transpose_w"), bias, results[0]))
    return false;
  activate(*activation, results[0]);
  return true;
}

bool fast_convolution(const Node& node, const std::vector<const Tensor*>& inputs,
                      std::vector<Tensor>& results) {
  const Tensor &x = *inputs[0], &w = *inputs[1];
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  const Activation* activation = activation_of(node);
  const bool transposed = node.attrs.has("output_shape");
  const bool plain = node.attrs.get<std::string>("auto_pad").empty() &&
                     (!transposed || node.attrs.get<Ints>("output_shape").empty());
  if (!activation || !plain) return false;
  const size_t axes = x.shape().size() - 2;
  const auto given = [&](const char* name, int64_t otherwise) -> std::optional<Shape> {
    for (const auto& [attribute, value] : node.attrs) {
      if (attribute != name) continue;
      const Ints* values = std::get_if<Ints>(&value.variant());
      if (!values) return std::nullopt;  // expressions
      if (values->empty()) break;
      return Shape(values->begin(), values->begin() + static_cast<int64_t>(axes));  // in front
    }
    return Shape(axes, otherwise);
  };
  const auto strides = given("strides", 1), dilations = given("dilations", 1),
             pads = given("pads", 0);
  if (!strides || !dilations || !pads) return false;
  const ConvolutionWindow window{*strides, *dilations, *pads, node.attrs.get<int64_t>("groups"),
                                 transposed};
  if (!onednn_convolution(x, w, bias, window, results[0])) return false;
  activate(*activation, results[0]);
  return true;
}

struct Entry {
  std::string_view op;
  FastOp implementation;
};
constexpr Entry kFastOps[] = {
    {"conv", fast_convolution},
    {"conv_transpose", fast_convolution},
    {"linear", fast_linear},
    {"matmul", fast_matmul},
};

}  // namespace

FastOp fast_op(std::string_view op) {
  for (const Entry& entry : kFastOps)
    if (entry.op == op) return entry.implementation;
  return nullptr;
}

}  // namespace rlx
