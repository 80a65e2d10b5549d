#include "rlx/backend/cpu/fast_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "rlx/backend/cpu/fast_loops.h"
#include "rlx/backend/cpu/onednn.h"

namespace rlx::detail {
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
const Activation* activation_of(const Attrs& attrs) {
  const auto& name = attrs.get<std::string>("activation");
  for (const Activation& activation : kActivations)
    if (activation.name == name) return &activation;
  return nullptr;
}
void activate(const Activation& activation, Tensor& y) {
  if (activation.name.empty()) return;
  for (float& element : y.mutable_data<float>())
    element = static_cast<float>(activation.of(static_cast<double>(element)));
}

bool fast_linear(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
                 std::vector<Tensor>& results, OneDnn& onednn) {
  const Activation* activation = activation_of(attrs);
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  if (!activation || !onednn.matmul(*inputs[0], false, *inputs[1], attrs.get<bool>("transpose_w"),
                                    bias, results[0]))
    return false;
  activate(*activation, results[0]);
  return true;
}

// None where the node leaves its pads to expressions or to the shapes.
std::optional<ConvolutionWindow> window_of(const Attrs& attrs, size_t axes) {
  const bool transposed = attrs.has("output_shape");
  if (!attrs.get<std::string>("auto_pad").empty() ||
      (transposed && !attrs.get<Ints>("output_shape").empty()))
    return std::nullopt;
  ConvolutionWindow window{Shape(axes, 1), Shape(axes, 1), Shape(axes, 0),
                           attrs.get<int64_t>("groups"), transposed};
  for (const auto& [name, attr] : attrs) {
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

bool fast_convolution(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
                      std::vector<Tensor>& results, OneDnn& onednn) {
  const Tensor &x = *inputs[0], &w = *inputs[1];
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  const Activation* activation = activation_of(attrs);
  const auto window = window_of(attrs, x.shape().size() - 2);
  if (!activation || !window ||
      !(convolve_small(x, w, bias, *window, results[0]) ||
        onednn.convolution(x, w, bias, *window, results[0])))
    return false;
  activate(*activation, results[0]);
  return true;
}

template <Combine how>
bool fast_binary(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                 std::vector<Tensor>& results, OneDnn& /*onednn*/) {
  return combine(how, *inputs[0], *inputs[1], results[0]);
}

bool fast_clip(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
               std::vector<Tensor>& results, OneDnn& /*onednn*/) {
  return clamp(*inputs[0], attrs.get<double>("min"), attrs.get<double>("max"), results[0]);
}

bool fast_batch_norm(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
                     std::vector<Tensor>& results, OneDnn& /*onednn*/) {
  const auto channels = static_cast<size_t>(inputs[0]->shape()[1]);
  std::vector<double> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    const auto at = [&](size_t i, double otherwise) {
      return inputs[i] ? inputs[i]->at(static_cast<int64_t>(c)) : otherwise;
    };
    scale[c] = at(1, 1) / std::sqrt(at(4, 1) + attrs.get<double>("epsilon"));
    shift[c] = at(2, 0) - at(3, 0) * scale[c];
  }
  return scale_channels(*inputs[0], scale, shift, results[0]);
}

bool fast_matmul_integer(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                         std::vector<Tensor>& results, OneDnn& onednn) {
  const auto given = [&](size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  return multiply_bytes(*inputs[0], *inputs[1], given(2), given(3), results[0], onednn);
}

bool fast_dequantise(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                     std::vector<Tensor>& results, OneDnn& /*onednn*/) {
  return scale_bytes(*inputs[0], *inputs[1], inputs.size() > 2 ? inputs[2] : nullptr, results[0]);
}

// y = x with a block overwritten: where y has the memory of x, only the block is touched.
bool fast_write_slice(const Attrs& /*attrs*/, const std::vector<const Tensor*>& inputs,
                      std::vector<Tensor>& results, OneDnn& /*onednn*/) {
  const Tensor &x = *inputs[0], &update = *inputs[1], &starts = *inputs[2];
  Tensor& y = results[0];
  if (y.shape() != x.shape() || update.shape().size() != x.shape().size()) return false;
  const Shape strides = strides_of(x.shape()), rows = strides_of(update.shape());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    const int64_t start = starts.integer_at(static_cast<int64_t>(d));
    if (start < 0 || start > x.shape()[d] - update.shape()[d]) return false;  // for its message
    offset += start * strides[d];
  }
  if (y.count() == 0) return true;
  std::byte* to = y.mutable_bytes().data();
  if (to != x.bytes().data()) std::memcpy(to, x.bytes().data(), x.bytes().size());
  image::StridedCopy(update.shape(), {0, rows}, {offset, strides}, bytes_of(x.dtype()))
      .run(update.bytes().data(), to);
  return true;
}

// True when it did the work; false hands the call to the next implementation.
using FastOp = bool (*)(const Attrs& attrs, const std::vector<const Tensor*>& inputs,
                        std::vector<Tensor>& results, OneDnn& onednn);

class FastKernel : public image::CallKernel {
 public:
  FastKernel(FastOp op, const Attrs& attrs) : op_(op), attrs_(attrs) {}
  bool run(image::CallSite& site) override {
    inputs_.clear();
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      if (site.inputs[i].present && site.inputs[i].is_view) return false;
      inputs_.push_back(site.in(i));
    }
    return op_(attrs_, inputs_, site.results, onednn_);
  }

 private:
  FastOp op_;
  const Attrs& attrs_;
  std::vector<const Tensor*> inputs_;
  OneDnn onednn_;
};

// A matrix that lies transposed in memory is read as it lies there.
class MatmulKernel : public image::CallKernel {
 public:
  explicit MatmulKernel(const Attrs& attrs) : attrs_(attrs) {}
  bool run(image::CallSite& site) override {
    bool transposed[] = {attrs_.get<bool>("transpose_a"), attrs_.get<bool>("transpose_b")};
    for (size_t i = 0; i < 2; ++i) {
      const image::Argument& x = site.inputs[i];
      const bool swapped = x.is_view && lies_transposed(x);
      if (x.is_view)
        operands_[i] = swapped ? as_it_lies(x) : x.contiguous();
      else
        operands_[i] = x.tensor;
      transposed[i] ^= swapped;
    }
    return onednn_.matmul(operands_[0], transposed[0], operands_[1], transposed[1], nullptr,
                          site.results[0]) ||
           (!transposed[0] &&
            plain_matmul(operands_[0], operands_[1], transposed[1], site.results[0]));
  }

 private:
  static bool lies_transposed(const image::Argument& x) {
    const size_t rank = x.shape.size();
    if (rank < 2) return false;
    Shape shape = x.shape, strides = x.strides;
    std::swap(shape[rank - 1], shape[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
    return strides == strides_of(shape);
  }
  static Tensor as_it_lies(const image::Argument& x) {
    Shape shape = x.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return x.tensor.part(x.offset, shape);
  }

  const Attrs& attrs_;
  Tensor operands_[2];
  OneDnn onednn_;
};

struct Entry {
  const char* op;
  FastOp implementation;
  bool leaves_views = false;  // to an implementation that reads them, rather than have them copied
};
constexpr Entry kFastOps[] = {
    {"add", fast_binary<Combine::add>, true},
    {"batch_norm", fast_batch_norm},
    {"clip", fast_clip, true},
    {"conv", fast_convolution},
    {"conv_transpose", fast_convolution},
    {"dequantise", fast_dequantise},
    {"div", fast_binary<Combine::div>, true},
    {"linear", fast_linear},
    {"matmul_integer", fast_matmul_integer},
    {"max", fast_binary<Combine::max>, true},
    {"min", fast_binary<Combine::min>, true},
    {"mul", fast_binary<Combine::mul>, true},
    {"sub", fast_binary<Combine::sub>, true},
    {"write_slice", fast_write_slice},
};

}  // namespace

image::Implementations fast_implementations() {
  image::Implementations table;
  for (const Entry& entry : kFastOps)
    table[entry.op].push_back(
        {"fast", entry.leaves_views,
         [op = entry.implementation](const image::Call& call, const image::Image&) {
           return std::make_unique<FastKernel>(op, call.attrs);
         }});
  table["matmul"].push_back({"fast", true, [](const image::Call& call, const image::Image&) {
                               return std::make_unique<MatmulKernel>(call.attrs);
                             }});
  return table;
}

}  // namespace rlx::detail
