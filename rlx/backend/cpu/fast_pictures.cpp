#include "rlx/backend/cpu/fast_pictures.h"

#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/backend/cpu/packed_of.h"
#include "rlx/vector/conv.h"

namespace rlx::detail {
namespace {

using image::Argument;

// [batch, channels, height, width], or without a height.
struct Picture {
  const Shape& shape;
  int64_t channels() const { return shape[1]; }
  int64_t height() const { return shape.size() == 4 ? shape[2] : 1; }
  int64_t width() const { return shape.back(); }
};

// Of single places, or of one channel, there is but one order.
bool lies_channels_last(const image::CallSite& site, const Picture& result) {
  return !site.stored.empty() || result.channels() == 1 || result.height() * result.width() == 1;
}

bool has_our_types(const image::CallSite& site, bool has_bias) {
  const Argument &x = site.inputs[0], &w = site.inputs[1];
  const Argument* bias = has_bias ? &site.inputs[2] : nullptr;
  return is_f32(x) && is_f32_or_half(w) && !w.is_view && site.results[0].dtype() == DType::f32 &&
         (!bias || (is_f32(*bias) && !bias->is_view));
}

vector::Windows windows_of(const ConvolutionWindow& window, const Picture& x, const Shape& w,
                           const Picture& y) {
  vector::Windows made;
  const size_t axes = w.size() - 2;
  const auto axis = [&](size_t i, int64_t in, int64_t out) {
    return vector::Windows::Axis{.in = in,
                                 .out = out,
                                 .window = w[i + 2],
                                 .stride = window.strides[i],
                                 .dilation = window.dilations[i],
                                 .before = window.pads_before[i]};
  };
  if (axes == 2) made.y = axis(0, x.height(), y.height());
  made.x = axis(axes - 1, x.width(), y.width());
  return made;
}

// What is done to parts of the result as they are finished.
struct Finish {
  const TileProgram* tile;
  static void run(const void* context, vector::Range pixels, vector::Range channels) {
    static_cast<const Finish*>(context)->tile->run(pixels, channels);
  }
};

class PictureConvolution : public image::CallKernel {
 public:
  PictureConvolution(CpuEnginePtr engine, const Attrs& attrs, PictureOptions options,
                     std::unique_ptr<TileProgram> tile)
      : engine_(std::move(engine)), attrs_(attrs), options_(options), tile_(std::move(tile)) {}

  bool run(image::CallSite& site) override {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    const Argument* bias = options_.has_bias ? &site.inputs[2] : nullptr;
    Tensor& result = site.results[0];
    if (!takes(site) || (tile_ && !tile_->place(site, 1))) return false;
    if (result.count() == 0) return true;
    if (count(x.shape) == 0) return false;
    const TileProgram::Start start = bias    ? TileProgram::Start{floats_of(*bias), 0}
                                     : tile_ ? tile_->take_start()
                                             : TileProgram::Start{};
    const TileProgram::Limits limits = tile_ ? tile_->take_limits() : TileProgram::Limits{};
    vector::Conv conv = conv_of(site);
    const vector::ConvWay way = way_of(conv);
    const vector::ConvFunctions& functions = engine_->convolutions[static_cast<size_t>(way)];
    conv.x = floats_of(x);
    conv.y = result.mutable_data<float>().data();
    conv.start = start.data;
    conv.start_pixel = start.row;
    conv.low = limits.low;
    conv.high = limits.high;
    conv.weights = packed(w, conv.size, way);
    const Finish finish{tile_ && !tile_->is_idle() ? tile_.get() : nullptr};
    if (finish.tile) {
      conv.finish = Finish::run;
      conv.context = &finish;
    }
    compute(conv, functions);
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    if (!takes(site)) return false;
    if (!options_.keeps_weights || !computes(site)) return true;
    const vector::Conv conv = conv_of(site);
    const vector::ConvWay way = way_of(conv);
    const vector::ConvFunctions& functions = engine_->convolutions[static_cast<size_t>(way)];
    holdings.pack(1, order_of(conv.size, way), 4 * functions.packed_size(conv.size));
    return true;
  }
  void pack(const image::CallSite& site) override {
    if (!options_.keeps_weights || !computes(site)) return;
    const vector::Conv conv = conv_of(site);
    packed(site.inputs[1], conv.size, way_of(conv));
  }

 private:
  bool takes(const image::CallSite& site) {
    if (!has_our_types(site, options_.has_bias)) return false;
    const size_t axes = site.inputs[0].shape.size() - 2;  // one or two
    if (!window_) window_ = window_of(attrs_, axes);
    const Picture to{site.shape_of(0)};
    // Without strides of its own a result must be of single places.
    return window_ && !window_->transposed &&
           (!site.stored.empty() || to.height() * to.width() == 1);
  }
  static bool computes(const image::CallSite& site) {
    return site.results[0].count() > 0 && count(site.inputs[0].shape) > 0;
  }

  // Where things lie is left out.
  vector::Conv conv_of(const image::CallSite& site) const {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    const Picture from{x.shape}, to{site.shape_of(0)};
    const size_t axes = x.shape.size() - 2;
    const Steps steps(x);
    return {.size = {.batch = x.shape[0],
                     .windows = windows_of(*window_, from, w.shape, to),
                     .groups = window_->groups,
                     .inputs = from.channels(),
                     .outputs = to.channels()},
            .x_batch = steps[0],
            .x_row = axes == 2 ? steps[2] : 0,
            .x_pixel = steps[axes + 1],
            .x_channel = steps[1],
            .y_pixel = to.channels()};
  }
  vector::ConvWay way_of(const vector::Conv& conv) const {
    const vector::ConvWay way = vector::conv_choice(conv, engine_->isa);
    return vector::is_winograd(way) && !options_.winograd ? vector::ConvWay::direct : way;
  }
  static PackedWeights::Order order_of(const vector::ConvSize& size, vector::ConvWay way) {
    return {kPackedConvolution + static_cast<int64_t>(way),
            size.groups,
            size.inputs,
            size.outputs,
            size.windows.y.window,
            size.windows.x.window};
  }

  void compute(const vector::Conv& conv, const vector::ConvFunctions& functions) {
    constexpr int64_t kWorth = int64_t{1} << 18;  // products that are worth a thread
    const int64_t work = conv.size.pixels() * conv.size.outputs * conv.size.inner();
    const int threads = work < kWorth ? 1 : engine_->team.threads();
    const vector::ConvBlocks blocks = functions.blocks(conv, threads);
    const auto each = static_cast<size_t>(blocks.scratch_size + 16);
    if (scratch_.size() < each * static_cast<size_t>(threads))
      scratch_.resize(each * static_cast<size_t>(threads));
    vector::Shares shares(blocks.count(), threads);
    const auto member = [&](int index) {
      float* scratch = scratch_.data() + static_cast<size_t>(index) * each;
      for (int64_t block = shares.take(index); block >= 0; block = shares.take(index))
        functions.run(conv, blocks, block, scratch);
    };
    if (threads == 1) return member(0);
    engine_->team.region(
        [&](int index, int /*members*/, vector::Barrier& /*barrier*/) { member(index); });
  }

  const float* packed(const Argument& w, const vector::ConvSize& size, vector::ConvWay way) {
    const vector::ConvFunctions& functions = engine_->convolutions[static_cast<size_t>(way)];
    return packed_.get(*engine_, w.tensor, options_.keeps_weights, order_of(size, way),
                       functions.packed_size(size), [&](float* to) {
                         const Tensor tensor = as_f32(w.tensor, *engine_);
                         engine_->team.run(
                             functions.panels(size), 4, [&](int64_t begin, int64_t end) {
                               functions.pack(size, tensor.data<float>().data(), {begin, end}, to);
                             });
                       });
  }

  CpuEnginePtr engine_;
  const Attrs& attrs_;
  const PictureOptions options_;
  std::unique_ptr<TileProgram> tile_;
  std::optional<ConvolutionWindow> window_;
  std::vector<float> scratch_;
  PackedOf packed_;
};

class PictureTransposed : public image::CallKernel {
 public:
  PictureTransposed(CpuEnginePtr engine, const Attrs& attrs, PictureOptions options,
                    std::unique_ptr<TileProgram> tile)
      : engine_(std::move(engine)), attrs_(attrs), options_(options), tile_(std::move(tile)) {}

  bool run(image::CallSite& site) override {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    const Argument* bias = options_.has_bias ? &site.inputs[2] : nullptr;
    Tensor& result = site.results[0];
    if (!takes(site) || (tile_ && !tile_->place(site, 1))) return false;
    if (result.count() == 0) return true;
    if (!computes(site)) return false;
    const Picture from{x.shape}, to{site.shape_of(0)};
    const Steps steps(x);
    const TileProgram::Start start =
        bias ? TileProgram::Start{floats_of(*bias), 0} : TileProgram::Start{};
    const int64_t outputs = to.channels(), inputs = from.channels(), width = to.width();
    const int64_t taps = w.shape[2] * w.shape[3];
    const vector::Gemm& gemm = engine_->gemm;
    const int64_t size = gemm.packed_size(inputs, outputs), panels = gemm.panels(outputs);
    const float* packed = this->packed(w, inputs, outputs);
    float* y = result.mutable_data<float>().data();
    const Finish finish{tile_.get()};
    const int64_t down = window_->strides[0], right = window_->strides[1];
    // A row of x makes as many rows of y as its window is high.
    engine_->team.run(x.shape[0] * from.height(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % from.height();
        const float* pixels = floats_of(x) + i / from.height() * steps[0] + row * steps[2];
        const int64_t first = i * down * width;  // pixel of y
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t at = first + tap / right * width + tap % right;
          gemm.run({.rows = from.width(),
                    .columns = outputs,
                    .inner = inputs,
                    .a = {pixels, steps[3], 1},
                    .packed_b = packed + tap * size,
                    .c = y + at * outputs,
                    .c_row = right * outputs,
                    .start = start.data},
                   {0, from.width()}, {0, panels});
        }
        if (finish.tile) Finish::run(&finish, {first, first + down * width}, {0, outputs});
      }
    });
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    if (!takes(site)) return false;
    const int64_t inputs = site.inputs[0].shape[1], outputs = site.shape_of(0)[1];
    const Shape& w = site.inputs[1].shape;
    if (site.results[0].count() == 0) return true;
    if (!computes(site)) return false;
    if (options_.keeps_weights)
      holdings.pack(1, order_of(inputs, outputs, w[2] * w[3]),
                    4 * engine_->gemm.packed_size(inputs, outputs) * w[2] * w[3]);
    return true;
  }
  void pack(const image::CallSite& site) override {
    if (options_.keeps_weights && site.results[0].count() > 0)
      packed(site.inputs[1], site.inputs[0].shape[1], site.shape_of(0)[1]);
  }

 private:
  bool takes(const image::CallSite& site) {
    if (!has_our_types(site, options_.has_bias)) return false;
    if (!window_) window_ = window_of(attrs_, 2);
    const Shape& w = site.inputs[1].shape;
    const Picture from{site.inputs[0].shape}, to{site.shape_of(0)};
    return window_ && lies_channels_last(site, to) && is_apart(w, from, to);
  }
  static bool computes(const image::CallSite& site) {
    const Argument& x = site.inputs[0];
    return count(x.shape) > 0 && (Steps(x)[1] == 1 || x.shape[1] == 1);
  }

  static PackedWeights::Order order_of(int64_t inputs, int64_t outputs, int64_t taps) {
    return {kPackedTransposed, inputs, outputs, taps};
  }
  const float* packed(const Argument& w, int64_t inputs, int64_t outputs) {
    const vector::Gemm& gemm = engine_->gemm;
    const int64_t taps = w.shape[2] * w.shape[3], size = gemm.packed_size(inputs, outputs);
    return packed_.get(*engine_, w.tensor, options_.keeps_weights, order_of(inputs, outputs, taps),
                       size * taps, [&](float* made) {
                         const Tensor tensor = as_f32(w.tensor, *engine_);
                         for (int64_t tap = 0; tap < taps; ++tap)
                           gemm.pack({tensor.data<float>().data() + tap, outputs * taps, taps},
                                     inputs, outputs, {0, gemm.panels(outputs)}, made + tap * size);
                       });
  }

  // Windows as wide and high as their steps, without padding.
  bool is_apart(const Shape& w, const Picture& from, const Picture& to) const {
    const Shape &strides = window_->strides, &pads = window_->pads_before;
    return window_->transposed && window_->groups == 1 && w[2] == strides[0] &&
           w[3] == strides[1] && window_->dilations[0] == 1 && window_->dilations[1] == 1 &&
           pads[0] == 0 && pads[1] == 0 && to.height() == from.height() * strides[0] &&
           to.width() == from.width() * strides[1];
  }

  CpuEnginePtr engine_;
  const Attrs& attrs_;
  const PictureOptions options_;
  std::unique_ptr<TileProgram> tile_;
  std::optional<ConvolutionWindow> window_;
  PackedOf packed_;
};

}  // namespace

std::unique_ptr<image::CallKernel> picture_convolution_kernel(CpuEnginePtr engine,
                                                              const Attrs& attrs,
                                                              PictureOptions options,
                                                              std::unique_ptr<TileProgram> tile) {
  return std::make_unique<PictureConvolution>(std::move(engine), attrs, options, std::move(tile));
}

std::unique_ptr<image::CallKernel> picture_transposed_kernel(CpuEnginePtr engine,
                                                             const Attrs& attrs,
                                                             PictureOptions options,
                                                             std::unique_ptr<TileProgram> tile) {
  return std::make_unique<PictureTransposed>(std::move(engine), attrs, options, std::move(tile));
}

}  // namespace rlx::detail
