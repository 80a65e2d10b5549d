#include "rlx/backend/cpu/fast_pictures.h"

#include <atomic>

#include "rlx/backend/cpu/convolution_window.h"
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

class PictureConvolution : public image::CallKernel {
 public:
  PictureConvolution(CpuEnginePtr engine, const Attrs& attrs, PictureOptions options,
                     std::unique_ptr<TileProgram> tile)
      : engine_(std::move(engine)), attrs_(attrs), options_(options), tile_(std::move(tile)) {}

  bool run(image::CallSite& site) override {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    const Argument* bias = options_.has_bias ? &site.inputs[2] : nullptr;
    Tensor& result = site.results[0];
    const Shape& shape = site.stored.empty() ? result.shape() : site.stored[0].shape;
    const size_t axes = x.shape.size() - 2;
    if (x.shape.size() < 3 || axes > 2 || !is_f32(x) || !is_f32(w) || w.is_view ||
        result.dtype() != DType::f32 || (bias && (!is_f32(*bias) || bias->is_view)))
      return false;
    if (!window_) window_ = window_of(attrs_, axes);
    const Picture from{x.shape}, to{shape};
    // Without strides of its own a result must be of single places.
    if (!window_ || window_->transposed || (site.stored.empty() && to.height() * to.width() != 1) ||
        (tile_ && !tile_->place(site, 1)))
      return false;
    if (result.count() == 0) return true;
    if (count(x.shape) == 0) return false;
    const TileProgram::Start start = bias    ? TileProgram::Start{floats_of(*bias), 0}
                                     : tile_ ? tile_->take_start()
                                             : TileProgram::Start{};
    const Steps steps(x);
    float* y = result.mutable_data<float>().data();
    vector::Conv conv{
        .size = {.batch = x.shape[0],
                 .windows = windows_of(*window_, from, w.shape, to),
                 .groups = window_->groups,
                 .inputs = from.channels(),
                 .outputs = to.channels()},
        .x = floats_of(x),
        .x_batch = steps[0],
        .x_row = axes == 2 ? steps[2] : 0,
        .x_pixel = steps[axes + 1],
        .x_channel = steps[1],
        .y = y,
        .y_pixel = to.channels(),
        .start = start.data,
        .start_pixel = start.row,
    };
    const vector::ConvWay way = vector::conv_choice(conv);
    const vector::ConvFunctions& functions = engine_->convolutions[static_cast<size_t>(way)];
    conv.weights = packed(w, conv.size, way);
    const Finish finish{options_.activation ? engine_->elementwise.*options_.activation : nullptr,
                        tile_ && !tile_->is_idle() ? tile_.get() : nullptr, y, to.channels()};
    if (finish.function || finish.tile) {
      conv.finish = Finish::run;
      conv.context = &finish;
    }
    compute(conv, functions);
    return true;
  }

 private:
  struct Finish {
    vector::Elementwise::Function function;
    const TileProgram* tile;
    float* y;
    int64_t y_pixel;
    static void run(const void* context, vector::Range pixels, vector::Range channels) {
      const auto& self = *static_cast<const Finish*>(context);
      if (self.function)
        for (int64_t i = pixels.begin; i < pixels.end; ++i) {
          float* at = self.y + i * self.y_pixel + channels.begin;
          self.function(at, at, channels.count());
        }
      if (self.tile) self.tile->run(pixels, channels);
    }
  };

  void compute(const vector::Conv& conv, const vector::ConvFunctions& functions) {
    constexpr int64_t kWorth = int64_t{1} << 18;  // products that are worth a thread
    const int64_t work = conv.size.pixels() * conv.size.outputs * conv.size.inner();
    const int threads = work < kWorth ? 1 : engine_->team.threads();
    const vector::ConvBlocks blocks = functions.blocks(conv, threads);
    const auto each = static_cast<size_t>(blocks.scratch_size + 16);
    if (scratch_.size() < each * static_cast<size_t>(threads))
      scratch_.resize(each * static_cast<size_t>(threads));
    std::atomic<int64_t> next = 0;
    const auto member = [&](size_t index) {
      float* scratch = scratch_.data() + index * each;
      for (int64_t block = next++; block < blocks.count(); block = next++)
        functions.run(conv, blocks, block, scratch);
    };
    if (threads == 1) return member(0);
    engine_->team.region([&](int index, int /*members*/, vector::Barrier& /*barrier*/) {
      member(static_cast<size_t>(index));
    });
  }

  const float* packed(const Argument& w, const vector::ConvSize& size, vector::ConvWay way) {
    const vector::ConvFunctions& functions = engine_->convolutions[static_cast<size_t>(way)];
    const Tensor::Mark mark = w.tensor.mark();
    if (options_.keeps_weights && mark == mark_ && way == way_) return aligned();
    packed_.resize(static_cast<size_t>(functions.packed_size(size) + 16));
    engine_->team.run(functions.panels(size), 4, [&](int64_t begin, int64_t end) {
      functions.pack(size, floats_of(w), {begin, end}, aligned());
    });
    mark_ = mark;
    way_ = way;
    return aligned();
  }
  float* aligned() {
    constexpr uintptr_t kLine = 64;
    const auto at = reinterpret_cast<uintptr_t>(packed_.data());
    return packed_.data() + (kLine - at % kLine) % kLine / sizeof(float);
  }

  CpuEnginePtr engine_;
  const Attrs& attrs_;
  const PictureOptions options_;
  std::unique_ptr<TileProgram> tile_;
  std::optional<ConvolutionWindow> window_;
  std::vector<float> scratch_;
  std::vector<float> packed_;  // the weights when they had this mark, for this way
  Tensor::Mark mark_;
  std::optional<vector::ConvWay> way_;
};

}  // namespace

std::unique_ptr<image::CallKernel> picture_convolution_kernel(CpuEnginePtr engine,
                                                              const Attrs& attrs,
                                                              PictureOptions options,
                                                              std::unique_ptr<TileProgram> tile) {
  return std::make_unique<PictureConvolution>(std::move(engine), attrs, options, std::move(tile));
}

}  // namespace rlx::detail
