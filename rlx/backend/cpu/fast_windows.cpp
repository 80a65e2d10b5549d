#include "rlx/backend/cpu/fast_windows.h"

#include <algorithm>
#include <span>

#include "rlx/image/uses.h"
#include "rlx/vector/byte_pool.h"

namespace rlx::detail {
namespace {

// None where the windows or their steps are larger than the vector code is made for.
bool make_windows(const Shape& x, const Shape& y, std::span<const int64_t> extents,
                  const ConvolutionWindow& window, vector::Windows& windows) {
  const size_t axes = x.size() - 2;
  if (x.size() < 3 || axes > 2 || extents.size() != axes) return false;
  constexpr int64_t kWindow = 64, kReach = 1 << 12, kStride = 64;
  for (size_t d = 0; d < axes; ++d) {
    vector::Windows::Axis& axis = d + 1 == axes ? windows.x : windows.y;
    axis = {x[d + 2],
            y[d + 2],
            extents[d],
            window.strides[d],
            window.dilations[d],
            window.pads_before[d]};
    if (axis.window > kWindow || axis.dilation > kReach || axis.stride > kStride ||
        axis.window * axis.dilation > kReach || axis.before < 0 || axis.before > kReach)
      return false;
  }
  return true;
}

// run(plane, rows, scratch) for all planes, or parts of them where there are few.
template <class Run>
void each_plane(const CpuEngine& engine, const vector::Windows& w, int64_t planes, const Run& run) {
  constexpr int64_t kRows = 32;
  const int64_t parts = (w.y.out + kRows - 1) / kRows;
  const int64_t work = std::min(kRows, w.y.out) * w.x.out * w.y.window * w.x.window;
  engine.team.run(
      planes * parts, CpuEngine::kGrain / (work + 1) + 1, [&](int64_t begin, int64_t end) {
        std::vector<float> scratch(static_cast<size_t>(engine.windows.scratch_size(w)));
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i % parts * kRows;
          run(i / parts, vector::Range{row, std::min(row + kRows, w.y.out)}, scratch.data());
        }
      });
}

// Do channels lie innermost, without a gap anywhere?
bool lies_dense(const image::Argument& x) {
  const Steps steps(x);
  int64_t step = x.shape[1];
  bool dense = steps[1] == 1;
  for (size_t d = x.shape.size(); d-- > 2; step *= x.shape[d]) dense &= steps[d] == step;
  return dense && (x.shape[0] == 1 || steps[0] == step);
}

// How many taps of a window at a place lie within [-before, end).
int64_t taps_of(const vector::Windows::Axis& axis, int64_t place, bool with_pads, int64_t after) {
  int64_t taps = 0;
  for (int64_t i = 0; i < axis.window; ++i) {
    const int64_t at = place * axis.stride - axis.before + i * axis.dilation;
    taps += (with_pads || at >= 0) && at < axis.in + (with_pads ? after : 0);
  }
  return taps;
}

// The bias, for rows of c that are channels.
struct FinishChannels {
  const vector::Elementwise& code;
  const float* bias;
  float* c;
  int64_t c_row;
  static void run(const void* context, vector::Range rows, vector::Range columns) {
    const auto& self = *static_cast<const FinishChannels*>(context);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      float* at = self.c + r * self.c_row + columns.begin;
      self.code.combine(vector::Binary::add, at, 1, self.bias + r, 0, at, columns.count());
    }
  }
};

class PoolKernel : public image::CallKernel {
 public:
  PoolKernel(CpuEnginePtr engine, PoolOptions options)
      : engine_(std::move(engine)), options_(std::move(options)) {}

  bool run(image::CallSite& site) override {
    Tensor& y = site.results[0];
    const Shape& shape = site.inputs[0].shape;
    vector::Windows w;
    const bool of_bytes = y.dtype() == DType::u8 || y.dtype() == DType::i8;
    if (!(of_bytes || is_f32(site.inputs[0])) || count(shape) == 0 || y.count() == 0 ||
        !make_windows(shape, site.shape_of(0), options_.extents, options_.window, w))
      return false;
    if (of_bytes) return run_bytes(site, w);
    if (!site.stored.empty()) return run_channels_last(site, w);
    const image::Argument x = without_view(site.inputs[0], *engine_);
    const float* from = floats_of(x);
    float* to = y.mutable_data<float>().data();
    const bool averages = options_.kind == PoolOptions::Kind::average;
    if (averages) count_taps(w);
    each_plane(*engine_, w, shape[0] * shape[1],
               [&](int64_t plane, vector::Range rows, float* scratch) {
                 const float* in = from + plane * w.y.in * w.x.in;
                 float* out = to + plane * w.y.out * w.x.out;
                 if (!averages) return engine_->windows.highest(w, in, out, rows, scratch);
                 engine_->windows.sum(w, in, out, rows, scratch);
                 for (int64_t row = rows.begin; row < rows.end; ++row)
                   engine_->elementwise.combine(vector::Binary::div, out + row * w.x.out, 1,
                                                counts_of(row, w), 1, out + row * w.x.out, w.x.out);
               });
    return true;
  }

 private:
  bool run_bytes(image::CallSite& site, const vector::Windows& w) {
    const bool channels_last = !site.stored.empty();
    const image::Argument& given = site.inputs[0];
    if (options_.kind != PoolOptions::Kind::highest || (channels_last && !lies_dense(given)))
      return false;
    Tensor& y = site.results[0];
    std::optional<image::Argument> copy;
    const image::Argument& x = channels_last ? given : without_view(given, *engine_, copy);
    const int64_t channels = channels_last ? x.shape[1] : 1;
    const int64_t planes = x.shape[0] * x.shape[1] / channels;
    const auto* from = reinterpret_cast<const uint8_t*>(bytes_of(x));
    auto* to = reinterpret_cast<uint8_t*>(y.mutable_bytes().data());
    vector::Windows wide = w;  // for the scratch
    wide.x.in *= channels;
    each_plane(*engine_, wide, planes, [&](int64_t plane, vector::Range rows, float* scratch) {
      vector::highest_bytes({.windows = w,
                             .is_signed = y.dtype() == DType::i8,
                             .channels = channels,
                             .x = from + plane * w.y.in * w.x.in * channels,
                             .y = to + plane * w.y.out * w.x.out * channels},
                            rows, reinterpret_cast<uint8_t*>(scratch));
    });
    return true;
  }

  // Operand and result lie with their channels innermost.
  bool run_channels_last(image::CallSite& site, const vector::Windows& w) {
    const image::Argument& x = site.inputs[0];
    const Steps steps(x);
    const size_t axes = x.shape.size() - 2;
    if (steps[1] != 1) return false;
    const int64_t channels = x.shape[1];
    const vector::Conv conv{.size = {.batch = x.shape[0],
                                     .windows = w,
                                     .groups = channels,
                                     .inputs = channels,
                                     .outputs = channels},
                            .x = floats_of(x),
                            .x_batch = steps[0],
                            .x_row = axes == 2 ? steps[2] : 0,
                            .x_pixel = steps[axes + 1],
                            .x_channel = 1,
                            .y = site.results[0].mutable_data<float>().data(),
                            .y_pixel = channels};
    const bool averages = options_.kind == PoolOptions::Kind::average;
    if (averages) count_axes(w);
    const vector::ConvBlocks blocks = engine_->pool.blocks(conv, engine_->team.threads());
    vector::Shares shares(blocks.count(), engine_->team.threads());
    engine_->team.region([&](int member, int /*members*/, vector::Barrier& /*barrier*/) {
      for (int64_t block = shares.take(member); block >= 0; block = shares.take(member))
        if (averages)
          engine_->pool.average(conv, row_counts_.data(), counts_.data(), blocks, block);
        else
          engine_->pool.highest(conv, blocks, block);
    });
    return true;
  }

  int64_t after(size_t from_end) const {
    const size_t axes = options_.extents.size();
    return axes >= from_end && options_.pads_after.size() >= from_end
               ? options_.pads_after[axes - from_end]
               : 0;
  }
  // How many taps count along each axis.
  void count_axes(const vector::Windows& w) {
    const auto count = [&](const vector::Windows::Axis& axis, int64_t pads_after,
                           std::vector<float>& counts) {
      counts.clear();
      for (int64_t i = 0; i < axis.out; ++i)
        counts.push_back(static_cast<float>(
            std::max<int64_t>(taps_of(axis, i, options_.counts_pads, pads_after), 1)));
    };
    count(w.y, after(2), row_counts_);
    count(w.x, after(1), counts_);
  }
  // A row of counts for each number of rows that a window may meet.
  void count_taps(const vector::Windows& w) {
    counts_.assign(static_cast<size_t>((w.y.window + 1) * w.x.out), 1);
    rows_met_.clear();
    for (int64_t row = 0; row < w.y.out; ++row)
      rows_met_.push_back(taps_of(w.y, row, options_.counts_pads, after(2)));
    for (int64_t column = 0; column < w.x.out; ++column) {
      const int64_t taps = taps_of(w.x, column, options_.counts_pads, after(1));
      for (int64_t rows = 0; rows <= w.y.window; ++rows)
        counts_[static_cast<size_t>(rows * w.x.out + column)] =
            static_cast<float>(std::max<int64_t>(rows * taps, 1));
    }
  }
  const float* counts_of(int64_t row, const vector::Windows& w) const {
    return counts_.data() + rows_met_[static_cast<size_t>(row)] * w.x.out;
  }

  CpuEnginePtr engine_;
  PoolOptions options_;
  std::vector<float> counts_, row_counts_;
  std::vector<int64_t> rows_met_;
};

}  // namespace

bool convolve_depthwise(const CpuEngine& engine, const Tensor& x, const Tensor& w,
                        const Tensor* bias, const ConvolutionWindow& window, Tensor& y) {
  const auto extents = std::span<const int64_t>(w.shape()).subspan(2);
  vector::Windows windows;
  const auto f32 = [](const Tensor* tensor) { return !tensor || tensor->dtype() == DType::f32; };
  if (window.transposed || window.groups == 1 || window.groups != x.shape()[1] ||
      y.shape()[1] != x.shape()[1] || w.shape()[1] != 1 || !f32(&x) || !f32(&w) || !f32(bias) ||
      x.count() == 0 || y.count() == 0 ||
      !make_windows(x.shape(), y.shape(), extents, window, windows))
    return false;
  const float *from = x.data<float>().data(), *weights = w.data<float>().data();
  const float* starts = bias ? bias->data<float>().data() : nullptr;
  float* to = y.mutable_data<float>().data();
  const int64_t channels = x.shape()[1], taps = windows.y.window * windows.x.window;
  each_plane(engine, windows, x.shape()[0] * channels,
             [&](int64_t plane, vector::Range rows, float* scratch) {
               const int64_t channel = plane % channels;
               engine.windows.weighted(windows, from + plane * windows.y.in * windows.x.in,
                                       weights + channel * taps, starts ? starts[channel] : 0,
                                       to + plane * windows.y.out * windows.x.out, rows, scratch);
             });
  return true;
}

bool convolve_as_product(const CpuEngine& engine, const Tensor& x, const Tensor& w,
                         const Tensor* bias, const ConvolutionWindow& window, Tensor& y) {
  const auto extents = std::span<const int64_t>(w.shape()).subspan(2);
  vector::Windows windows;
  const auto f32 = [](const Tensor* tensor) { return !tensor || tensor->dtype() == DType::f32; };
  if (window.transposed || !f32(&x) || !f32(&w) || !f32(bias) || x.count() == 0 || y.count() == 0 ||
      w.count() == 0 || !make_windows(x.shape(), y.shape(), extents, window, windows))
    return false;
  const int64_t groups = window.groups, channels = w.shape()[1], outputs = y.shape()[1] / groups;
  const int64_t inner = channels * windows.y.window * windows.x.window;
  const int64_t plane = windows.y.in * windows.x.in, places = windows.y.out * windows.x.out;
  constexpr int64_t kMostInner = 1 << 14;  // longer sums lose digits
  if (inner > kMostInner) return false;
  const auto is_plain = [](const vector::Windows::Axis& axis) {
    return axis.window == 1 && axis.stride == 1 && axis.before == 0 && axis.in == axis.out;
  };
  const float *from = x.data<float>().data(), *weights = w.data<float>().data();
  const float* starts = bias ? bias->data<float>().data() : nullptr;
  float* to = y.mutable_data<float>().data();
  for (int64_t i = 0; i < x.shape()[0] * groups; ++i) {
    const int64_t group = i % groups;
    const vector::Unfold unfold{from + i * channels * plane, windows};
    float* c = to + i * outputs * places;
    const FinishChannels finish{engine.elementwise, starts ? starts + group * outputs : nullptr, c,
                                places};
    vector::Product product{.rows = outputs,
                            .columns = places,
                            .inner = inner,
                            .a = {weights + group * outputs * inner, inner, 1},
                            .b = {unfold.x, plane, 1},
                            .c = c,
                            .c_row = places};
    if (!is_plain(windows.x) || !is_plain(windows.y)) {
      product.read_b = engine.unfold;
      product.read_context = &unfold;
    }
    if (bias) {
      product.finish = FinishChannels::run;
      product.context = &finish;
    }
    vector::multiply(product, engine.gemm, engine.team);
  }
  return true;
}

std::unique_ptr<image::CallKernel> pool_kernel(CpuEnginePtr engine, PoolOptions options) {
  return std::make_unique<PoolKernel>(std::move(engine), std::move(options));
}

bool is_read(const image::Call& call, size_t result, const image::Image& image) {
  if (result >= call.results.size() || call.results[result] < 0) return false;
  const image::ValueId value = call.results[result];
  for (const image::Output& output : image.outputs)
    if (output.value == value) return true;
  for (const image::State& state : image.states)
    if (state.next == value) return true;
  for (const image::Steps* steps : {&image.bind, &image.once, &image.run})
    for (const image::Step& step : *steps) {
      const image::Use use = image::use_of(step, image.flag);
      if (std::find(use.reads.begin(), use.reads.end(), value) != use.reads.end()) return true;
    }
  return false;
}

}  // namespace rlx::detail
