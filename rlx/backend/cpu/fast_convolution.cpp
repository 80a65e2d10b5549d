#include "rlx/backend/cpu/fast_convolution.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "rlx/backend/cpu/fast_loops.h"
#include "rlx/backend/cpu/fast_windows.h"
#include "rlx/backend/cpu/onednn.h"

namespace rlx::detail {

std::optional<ConvolutionWindow> window_of(const Attrs& attrs, size_t axes) {
  const bool transposed = attrs.has("output_shape");
  if (!attrs.get<std::string>("auto_pad").empty() ||
      (transposed && !attrs.get<Ints>("output_shape").empty()))
    return std::nullopt;
  ConvolutionWindow window{Shape(axes, 1), Shape(axes, 1), Shape(axes, 0),
                           attrs.has("groups") ? attrs.get<int64_t>("groups") : 1, transposed};
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

namespace {

// Entries [first, first + count) of an axis that nothing but ones comes before.
Tensor entries(const Tensor& x, size_t axis, int64_t first, int64_t number) {
  Shape shape = x.shape();
  shape[axis] = number;
  int64_t stride = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) stride *= shape[d];
  return x.part(first * stride, std::move(shape));
}

class ConvolutionKernel : public image::CallKernel {
 public:
  ConvolutionKernel(CpuEnginePtr engine, const Attrs& attrs, ConvolutionOptions options)
      : engine_(std::move(engine)), attrs_(attrs), options_(options) {}

  bool run(image::CallSite& site) override {
    const Tensor &x = *site.in(0), &w = *site.in(1);
    const Tensor* bias = site.in(2);
    Tensor& y = site.results[0];
    if (x.shape().size() < 3) return false;
    if (!window_) window_ = window_of(attrs_, x.shape().size() - 2);
    if (!window_) return false;
    if (convolve_small(x, w, bias, *window_, y) ||
        convolve_depthwise(*engine_, x, w, bias, *window_, y) ||
        convolve_as_product(*engine_, x, w, bias, *window_, y))
      return true;
    if (!cut_already(x, w, bias, y)) cut(x, w, bias, y);
    std::atomic<bool> done = true;
    engine_->team.run(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (!run(parts_[static_cast<size_t>(i)])) done = false;
    });
    return done;
  }

 private:
  struct Part {
    Tensor x, w, bias, y;
    bool has_bias = false;
    ConvolutionWindow window;
    OneDnn onednn = {};
  };

  bool run(Part& part) {
    const Tensor* bias = part.has_bias ? &part.bias : nullptr;
    return part.onednn.convolution(part.x, part.w, options_.keeps_weights, bias, part.window,
                                   part.y);
  }

  // The parts of a bound run are the same every time: it makes nothing anew.
  bool cut_already(const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y) {
    const auto place = [](const Tensor& tensor) { return tensor.bytes().data(); };
    const std::array<const std::byte*, 4> now = {place(x), place(w), bias ? place(*bias) : nullptr,
                                                 place(y)};
    const bool same =
        !parts_.empty() && places_ == now && shapes_[0] == x.shape() && shapes_[1] == y.shape();
    places_ = now;
    return same;
  }

  // By examples where there are several, else by output channels, which lie end to end then.
  void cut(const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y) {
    constexpr int64_t kWorth = int64_t{1} << 20;  // products that are worth a thread
    shapes_ = {x.shape(), y.shape()};
    const int64_t batch = y.shape()[0], channels = y.shape()[1], groups = window_->groups;
    const int64_t work = channels == 0 ? 0 : y.count() * (w.count() / channels);
    int64_t number = std::min<int64_t>(engine_->team.threads(), work / kWorth);
    const bool by_batch = batch > 1;
    if (by_batch)
      number = std::min(number, batch);
    else if (window_->transposed || channels % std::max<int64_t>(number, 1) != 0 ||
             (groups > 1 && groups % std::max<int64_t>(number, 1) != 0))
      number = 1;
    number = std::max<int64_t>(number, 1);
    std::vector<Part> parts(static_cast<size_t>(number));
    for (int64_t i = 0; i < number; ++i) {
      Part& part = parts[static_cast<size_t>(i)];
      // What a part has learnt of its extents and weights is of use for others of its kind.
      if (static_cast<size_t>(i) < parts_.size())
        part.onednn = std::move(parts_[static_cast<size_t>(i)].onednn);
      part.window = *window_;
      part.has_bias = bias != nullptr;
      part.x = x, part.w = w, part.y = y;
      if (bias) part.bias = *bias;
      if (number == 1) continue;
      if (by_batch) {
        const int64_t first = batch * i / number, count = batch * (i + 1) / number - first;
        part.x = entries(x, 0, first, count);
        part.y = entries(y, 0, first, count);
        continue;
      }
      const int64_t count = channels / number;
      part.w = entries(w, 0, i * count, count);
      part.y = entries(y, 1, i * count, count);
      if (bias) part.bias = entries(*bias, 0, i * count, count);
      if (groups == 1) continue;
      part.window.groups = groups / number;
      const int64_t read = x.shape()[1] / number;
      part.x = entries(x, 1, i * read, read);
    }
    parts_ = std::move(parts);
  }

  CpuEnginePtr engine_;
  const Attrs& attrs_;
  ConvolutionOptions options_;
  std::optional<ConvolutionWindow> window_;
  std::vector<Part> parts_;
  std::array<const std::byte*, 4> places_ = {};
  std::array<Shape, 2> shapes_;
};

}  // namespace

std::unique_ptr<image::CallKernel> convolution_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                      ConvolutionOptions options) {
  return std::make_unique<ConvolutionKernel>(std::move(engine), attrs, options);
}

}  // namespace rlx::detail
