#include "rlx/backend/cpu/fast_ops.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "rlx/backend/cpu/fast_loops.h"
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

// None where the node leaves its pads to expressions or to the shapes.
std::optional<ConvolutionWindow> window_of(const Node& node, size_t axes) {
  const bool transposed = node.attrs.has("output_shape");
  if (!node.attrs.get<std::string>("auto_pad").empty() ||
      (transposed && !node.attrs.get<Ints>("output_shape").empty()))
    return std::nullopt;
  ConvolutionWindow window{Shape(axes, 1), Shape(axes, 1), Shape(axes, 0),
                           node.attrs.get<int64_t>("groups"), transposed};
  for (const auto& [name, attr] : node.attrs) {
    Shape* into = name == "strides"     ? &window.strides
                  : name == "dilations" ? &window.dilations
                  : name == "pads"      ? &window.pads_before
                                        : nullptr;
    if (!into) continue;
    const Ints* values = std::get_if<Ints>(&attr.variant());
    if (!values) return std::nullopt;
    if (!values->empty()) std::copy_n(values->begin(), axes, into->begin());  // pads: in front
  }
  return window;
}

bool fast_convolution(const Node& node, const std::vector<const Tensor*>& inputs,
                      std::vector<Tensor>& results) {
  const Tensor &x = *inputs[0], &w = *inputs[1];
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  const Activation* activation = activation_of(node);
  const auto window = window_of(node, x.shape().size() - 2);
  if (!activation || !window ||
      !(convolve_little(x, w, bias, *window, results[0]) ||
        onednn_convolution(x, w, bias, *window, results[0])))
    return false;
  activate(*activation, results[0]);
  return true;
}

template <Combine how>
bool fast_binary(const Node& /*node*/, const std::vector<const Tensor*>& inputs,
                 std::vector<Tensor>& results) {
  return combine(how, *inputs[0], *inputs[1], results[0]);
}

bool fast_clip(const Node& node, const std::vector<const Tensor*>& inputs,
               std::vector<Tensor>& results) {
  return clamp(*inputs[0], node.attrs.get<double>("min"), node.attrs.get<double>("max"),
               results[0]);
}

bool fast_batch_norm(const Node& node, const std::vector<const Tensor*>& inputs,
                     std::vector<Tensor>& results) {
  const auto channels = static_cast<size_t>(inputs[0]->shape()[1]);
  std::vector<double> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    const auto at = [&](size_t i, double otherwise) {
      return inputs[i] ? inputs[i]->at(static_cast<int64_t>(c)) : otherwise;
    };
    scale[c] = at(1, 1) / std::sqrt(at(4, 1) + node.attrs.get<double>("epsilon"));
    shift[c] = at(2, 0) - at(3, 0) * scale[c];
  }
  return scale_channels(*inputs[0], scale, shift, results[0]);
}

bool fast_matmul_integer(const Node& /*node*/, const std::vector<const Tensor*>& inputs,
                         std::vector<Tensor>& results) {
  const auto given = [&](size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  return multiply_bytes(*inputs[0], *inputs[1], given(2), given(3), results[0]);
}

bool fast_dequantise(const Node& /*node*/, const std::vector<const Tensor*>& inputs,
                     std::vector<Tensor>& results) {
  return scale_bytes(*inputs[0], *inputs[1], inputs.size() > 2 ? inputs[2] : nullptr, results[0]);
}

struct Entry {
  std::string_view op;
  FastOp implementation;
};
constexpr Entry kFastOps[] = {
    {"add", fast_binary<Combine::add>},
    {"batch_norm", fast_batch_norm},
    {"clip", fast_clip},
    {"conv", fast_convolution},
    {"conv_transpose", fast_convolution},
    {"dequantise", fast_dequantise},
    {"div", fast_binary<Combine::div>},
    {"linear", fast_linear},
    {"matmul", fast_matmul},
    {"matmul_integer", fast_matmul_integer},
    {"max", fast_binary<Combine::max>},
    {"min", fast_binary<Combine::min>},
    {"mul", fast_binary<Combine::mul>},
    {"sub", fast_binary<Combine::sub>},
};

}  // namespace

FastOp fast_op(std::string_view op) {
  for (const Entry& entry : kFastOps)
    if (entry.op == op) return entry.implementation;
  return nullptr;
}

}  // namespace rlx
