// Convolutions of bytes, with channels innermost: products of what windows meet with the weights,
// or a window for each channel.

#include <algorithm>

#include "rlx/backend/cpu/byte_tiles.h"
#include "rlx/backend/cpu/byte_winograds.h"
#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/backend/cpu/packed_of.h"
#include "rlx/vector/byte_windows.h"

namespace rlx::detail {
namespace {

using image::Argument;
using vector::ByteDepthwise, vector::BytePicture;

class ByteConvolutionKernel : public image::CallKernel {
 public:
  ByteConvolutionKernel(CpuEnginePtr engine, const Attrs& attrs, bool keeps_w,
                        std::unique_ptr<TileProgram> tile)
      : engine_(std::move(engine)),
        attrs_(attrs),
        keeps_w_(keeps_w),
        tile_(std::move(tile)),
        scratch_(engine_->team.threads()),
        winograd_(*engine_) {}

  bool run(image::CallSite& site) override {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    Tensor& result = site.results[0];
    if (!takes(site)) return false;
    if (result.count() == 0) return true;
    const Shape& shape = site.shape_of(0);
    groups_ = window_->groups;
    outputs_ = shape[1];
    const BytePicture picture = picture_of(site, shape);
    const int64_t places = picture.places();
    if (!computes(site, picture)) return false;
    if (tile_ && !tile_->place(site, 1)) return false;
    const bool w_signed = w.tensor.dtype() == DType::i8;
    take_zeros(site, w_signed);
    const int64_t batch = Steps(x)[0];
    int32_t* y = tile_ ? nullptr : result.mutable_data<int32_t>().data();
    const bool depthwise = is_depthwise(picture);
    if (depthwise) take_channel_weights(w, w_signed, picture);
    for (int64_t n = 0; n < shape[0]; ++n) {
      BytePicture each = picture;
      each.data += n * batch;
      if (depthwise)
        run_depthwise(each, y, n * places);
      else if (by_winograd(picture, w_signed))
        winograd_.run(*engine_, each, w.tensor, outputs_, {tile_.get(), y, n * places});
      else
        run_products(each, w, w_signed, y, n * places);
    }
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    if (!takes(site)) return false;
    if (site.results[0].count() == 0) return true;
    groups_ = window_->groups;
    outputs_ = site.shape_of(0)[1];
    const BytePicture picture = picture_of(site, site.shape_of(0));
    if (!computes(site, picture)) return false;
    if (keeps_w_ && !is_depthwise(picture))
      holdings.pack(1, order_of(picture), 4 * groups_ * (words_of(picture) + columns()));
    return true;
  }
  void pack(const image::CallSite& site) override {
    if (!keeps_w_ || site.results[0].count() == 0) return;
    const BytePicture picture = picture_of(site, site.shape_of(0));
    const Argument& w = site.inputs[1];
    if (!is_depthwise(picture)) weights_of(picture, w, w.tensor.dtype() == DType::i8);
  }

 private:
  bool takes(const image::CallSite& site) {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    const size_t axes = x.shape.size() - 2;
    if (x.shape.size() < 3 || axes > 2 || w.is_view) return false;
    if (!window_) window_ = window_of(attrs_, axes);
    return window_.has_value();
  }
  bool computes(const image::CallSite& site, const BytePicture& picture) const {
    return picture.taps() * picture.channels != 0 && count(site.inputs[0].shape) != 0 &&
           (!site.stored.empty() || outputs_ == 1 || picture.places() == 1);
  }
  bool is_depthwise(const BytePicture& picture) const {
    return picture.channels == 1 && groups_ == outputs_ && groups_ > 1;
  }

  // Of the weights of a group, as they are packed: words, and sums of columns.
  int64_t words_of(const BytePicture& picture) const {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    return gemm.packed_words(picture.inner(gemm.in_word), outputs_ / groups_);
  }
  int64_t columns() const {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    return gemm.panels(outputs_ / groups_) * gemm.panel_columns;
  }
  PackedWeights::Order order_of(const BytePicture& picture) const {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    return {kPackedBytes, gemm.in_word,       gemm.panel_columns,
            groups_,      outputs_ / groups_, picture.taps()};
  }

  // Of one group.
  BytePicture picture_of(const image::CallSite& site, const Shape& y) const {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    const Steps steps(x);
    const size_t axes = x.shape.size() - 2;
    BytePicture made{.data = reinterpret_cast<const uint8_t*>(bytes_of(x)),
                     .channel = steps[1],
                     .pixel = steps[axes + 1],
                     .row = axes == 2 ? steps[2] : 0,
                     .is_signed = x.tensor.dtype() == DType::i8,
                     .zero = static_cast<uint8_t>(zero_of(site, 2, 0)),
                     .channels = w.shape[1]};
    for (size_t d = 0; d < axes; ++d)
      (d + 1 == axes ? made.windows.x : made.windows.y) = {.in = x.shape[d + 2],
                                                           .out = y[d + 2],
                                                           .window = w.shape[d + 2],
                                                           .stride = window_->strides[d],
                                                           .dilation = window_->dilations[d],
                                                           .before = window_->pads_before[d]};
    return made;
  }

  static int64_t zero_of(const image::CallSite& site, size_t i, int64_t at) {
    if (i >= site.inputs.size() || !site.inputs[i].present) return 0;
    const Tensor& tensor = site.inputs[i].tensor;
    return tensor.integer_at(tensor.count() == 1 ? 0 : at);
  }

  // Of the numbers as the products have them.
  void take_zeros(const image::CallSite& site, bool w_signed) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const bool x_signed = site.inputs[0].tensor.dtype() == DType::i8;
    x_zero_ = static_cast<int32_t>(zero_of(site, 2, 0));
    shifted_x_zero_ = x_zero_ + gemm.a_shift(x_signed);
    const int64_t each = outputs_ / groups_, padded = gemm.panels(each) * gemm.panel_columns;
    w_zeros_.assign(static_cast<size_t>(padded * groups_), 0);
    has_w_zeros_ = false;
    for (int64_t o = 0; o < outputs_; ++o) {
      const auto zero = static_cast<int32_t>(zero_of(site, 3, o)) + gemm.b_shift(w_signed);
      w_zeros_[static_cast<size_t>(o / each * padded + o % each)] = zero;
      has_w_zeros_ |= zero != 0;
    }
  }

  // Its numbers are the same ones: the switch is for memory, of which it takes more.
  bool by_winograd(const BytePicture& picture, bool w_signed) const {
    const bool is_off = attrs_.has("winograd") && attrs_.get<int64_t>("winograd") == 0;
    return !is_off && keeps_w_ && w_signed && groups_ == 1 && !has_w_zeros_ &&
           engine_->byte_winograd.accepts(picture.windows, picture.channels, outputs_);
  }

  static int64_t grain(int64_t bytes) { return CpuEngine::kGrain * 4 / (bytes + 1) + 1; }

  // The weights of all groups, each as the right operand of a product and the sums of its columns.
  const uint32_t* weights_of(const BytePicture& picture, const Argument& w, bool w_signed) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const int64_t each = outputs_ / groups_, panels = gemm.panels(each), words = words_of(picture),
                  columns = this->columns();
    const auto make = [&](float* to) {
      auto* packed = reinterpret_cast<uint32_t*>(to);
      engine_->team.run(
          groups_ * panels, grain(gemm.panel_columns * words), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              uint32_t* group = packed + i / panels * (words + columns);
              vector::pack_taps(picture, gemm,
                                bytes_of(w) + i / panels * each * picture.channels * picture.taps(),
                                w_signed, each, {i % panels, i % panels + 1}, group,
                                reinterpret_cast<int32_t*>(group + words));
            }
          });
    };
    return reinterpret_cast<const uint32_t*>(packed_.get(
        *engine_, w.tensor, keeps_w_, order_of(picture), groups_ * (words + columns), make));
  }

  // Threads share the rows of the picture, then blocks of the product.
  void run_products(const BytePicture& whole, const Argument& w, bool w_signed, int32_t* y,
                    int64_t first_place) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const int64_t each = outputs_ / groups_, places = whole.places(),
                  inner = whole.inner(gemm.in_word), words = words_of(whole),
                  columns = this->columns();
    const uint32_t* weights = weights_of(whole, w, w_signed);
    words_.resize(static_cast<size_t>(whole.words(gemm.in_word)));
    pieces_.find(whole, gemm.in_word);
    if (has_w_zeros_) window_sums_.resize(static_cast<size_t>(places));
    for (int64_t group = 0; group < groups_; ++group) {
      BytePicture picture = whole;
      picture.data += group * whole.channels * whole.channel;
      engine_->team.run(picture.rows(), grain(picture.pixels() * picture.channels),
                        [&](int64_t begin, int64_t end) {
                          vector::take_pixels(picture, gemm.in_word, {begin, end}, words_.data());
                        });
      if (has_w_zeros_)
        engine_->team.run(places, grain(inner), [&](int64_t begin, int64_t end) {
          vector::sum_windows(pieces_, gemm.in_word, words_.data(), {begin, end},
                              window_sums_.data());
        });
      const uint32_t* b = weights + group * (words + columns);
      const vector::ByteProduct product{
          .rows = places,
          .columns = each,
          .inner = inner,
          .a = words_.data(),
          .pieces = pieces_.pieces(),
          .a_sums = window_sums_.data(),
          .b = b,
          .b_sums = reinterpret_cast<const int32_t*>(b + words),
          .a_zero = &shifted_x_zero_,
          .a_zero_step = 0,
          .b_zero = has_w_zeros_ ? w_zeros_.data() + group * columns : nullptr,
          .c = y ? y + first_place * outputs_ + group * each : nullptr,
          .c_row = outputs_};
      if (tile_)
        multiply_in_tiles(*engine_, product, *tile_, {first_place, group * each}, scratch_);
      else
        vector::multiply(product, gemm, engine_->team);
    }
  }

  // The weights less their zero points, channels side by side, and what sums begin with.
  void take_channel_weights(const Argument& w, bool w_signed, const BytePicture& picture) {
    const int64_t padded = ByteDepthwise::padded(outputs_), taps = picture.taps(),
                  shift = engine_->byte_gemm.b_shift(w_signed),
                  zero_of_x = x_zero_ + (picture.is_signed ? 128 : 0);
    const Taken taken{w.tensor.mark(), outputs_, taps, zero_of_x};
    if (keeps_w_ && taken == taken_ && taken_zeros_ == w_zeros_) return;
    taken_ = taken;
    taken_zeros_ = w_zeros_;
    weights_.assign(static_cast<size_t>((taps + 1) * padded), 0);
    const auto* bytes = reinterpret_cast<const uint8_t*>(bytes_of(w));
    const int64_t columns = static_cast<int64_t>(w_zeros_.size()) / groups_;
    for (int64_t c = 0; c < outputs_; ++c) {
      const int64_t zero = w_zeros_[static_cast<size_t>(c * columns)] - shift;
      int64_t start = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const uint8_t byte = bytes[c * taps + tap];
        const int64_t weight = (w_signed ? static_cast<int8_t>(byte) : byte) - zero;
        weights_[static_cast<size_t>(tap * padded + c)] = static_cast<int32_t>(weight);
        start -= weight * zero_of_x;
      }
      weights_[static_cast<size_t>(taps * padded + c)] = static_cast<int32_t>(start);
    }
  }

  void run_depthwise(const BytePicture& one, int32_t* y, int64_t first_place) {
    BytePicture picture = one;  // of all groups, one channel each
    picture.channels = outputs_;
    constexpr int64_t kInWord = 4;
    const int64_t taps = one.taps();
    words_.resize(static_cast<size_t>(picture.words(kInWord) + ByteDepthwise::kSlack / kInWord));
    const int64_t pixel = picture.deep(kInWord) * kInWord;
    engine_->team.run(picture.rows(), grain(picture.pixels() * pixel),
                      [&](int64_t begin, int64_t end) {
                        vector::take_pixels(picture, kInWord, {begin, end}, words_.data());
                      });
    const vector::Windows& windows = picture.windows;
    const int64_t row = windows.x.out * outputs_;
    ByteDepthwise convolution{.windows = picture.windows,
                              .channels = outputs_,
                              .picture = reinterpret_cast<const uint8_t*>(words_.data()),
                              .row = picture.pixels() * pixel,
                              .pixel = pixel,
                              .weights = weights_.data(),
                              .start = weights_.data() + taps * ByteDepthwise::padded(outputs_)};
    if (tile_) scratch_.resize(row);
    engine_->team.run(
        windows.y.out, CpuEngine::kGrain / (row * taps / 8 + 1) + 1,
        [&](int64_t begin, int64_t end) {
          ByteDepthwise part = convolution;
          if (!tile_) {
            part.y = y + first_place * outputs_ + begin * row;
            return engine_->byte_depthwise(part, {begin, end});
          }
          const Scratch::Part own(scratch_);
          part.y = reinterpret_cast<int32_t*>(own.data());
          for (int64_t i = begin; i < end; ++i) {
            engine_->byte_depthwise(part, {i, i + 1});
            const int64_t place = first_place + i * windows.x.out;
            tile_->run({place, place + windows.x.out}, {0, outputs_}, {part.y, outputs_});
          }
        });
  }

  // What the weights of channels are made of.
  struct Taken {
    Tensor::Mark mark = {};
    int64_t outputs = 0, taps = 0, zero_of_x = 0;
    bool operator==(const Taken&) const = default;
  };

  CpuEnginePtr engine_;
  const Attrs& attrs_;
  const bool keeps_w_;
  std::unique_ptr<TileProgram> tile_;
  Scratch scratch_;
  std::optional<ConvolutionWindow> window_;
  int64_t groups_ = 1, outputs_ = 0;
  int32_t x_zero_ = 0, shifted_x_zero_ = 0;
  bool has_w_zeros_ = false;
  std::vector<int32_t> w_zeros_, taken_zeros_, window_sums_, weights_;
  std::vector<uint32_t> words_;
  Taken taken_;
  vector::WindowPieces pieces_;
  PackedOf packed_;
  ByteWinogradSteps winograd_;
};

}  // namespace

std::unique_ptr<image::CallKernel> byte_convolution_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                           bool keeps_w,
                                                           std::unique_ptr<TileProgram> tile) {
  return std::make_unique<ByteConvolutionKernel>(std::move(engine), attrs, keeps_w,
                                                 std::move(tile));
}

}  // namespace rlx::detail
