// Convolutions of bytes as products: weights by what their windows meet.

#include <algorithm>

#include "rlx/backend/cpu/convolution_window.h"
#include "rlx/backend/cpu/fast_quantised.h"
#include "rlx/vector/byte_unfold.h"

namespace rlx::detail {
namespace {

using image::Argument;

class ByteConvolutionKernel : public image::CallKernel {
 public:
  ByteConvolutionKernel(CpuEnginePtr engine, const Attrs& attrs, bool keeps_w)
      : engine_(std::move(engine)), attrs_(attrs), keeps_w_(keeps_w) {}

  bool run(image::CallSite& site) override {
    const Argument &x = site.inputs[0], &w = site.inputs[1];
    Tensor& result = site.results[0];
    const size_t axes = x.shape.size() - 2;
    if (axes < 1 || axes > 2) return false;
    if (!window_) window_ = window_of(attrs_, axes);
    if (!window_) return false;
    if (result.count() == 0) return true;
    const int64_t groups = window_->groups, outputs = w.shape[0] / groups;
    vector::ByteUnfold unfold{.is_signed = x.tensor.dtype() == DType::i8,
                              .channels = w.shape[1],
                              .windows = windows_of(x.shape, w.shape, result.shape())};
    if (unfold.taps() * unfold.channels == 0 || count(x.shape) == 0) return false;
    const bool w_signed = w.tensor.dtype() == DType::i8;
    take_zeros(site, w_signed, unfold);
    take_weights(w, w_signed, unfold);
    const auto* planes = reinterpret_cast<const uint8_t*>(bytes_of(x));
    int32_t* y = result.mutable_data<int32_t>().data();
    const int64_t picture = count(x.shape) / (x.shape[0] * groups), places = unfold.places();
    const auto part = [&](int64_t i) {  // one group of one picture
      const int64_t row = i % groups * outputs;
      vector::ByteUnfold each = unfold;
      each.planes = planes + i * picture;
      return std::pair(each, product_of(unfold.inner(engine_->byte_gemm), places,
                                        {row, row + outputs}, y + i * outputs * places));
    };
    const int64_t parts = x.shape[0] * groups;
    if (groups > 1)
      by_parts(parts, part);
    else
      for (int64_t i = 0; i < parts; ++i) by_panels(part(i).first, part(i).second);
    return true;
  }

 private:
  vector::Windows windows_of(const Shape& x, const Shape& w, const Shape& y) const {
    vector::Windows made;
    const size_t axes = x.size() - 2;
    for (size_t d = 0; d < axes; ++d)
      (d + 1 == axes ? made.x : made.y) = {.in = x[d + 2],
                                           .out = y[d + 2],
                                           .window = w[d + 2],
                                           .stride = window_->strides[d],
                                           .dilation = window_->dilations[d],
                                           .before = window_->pads_before[d]};
    return made;
  }

  // Those of the numbers as they are laid out.
  void take_zeros(const image::CallSite& site, bool w_signed, vector::ByteUnfold& unfold) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const auto zero = [&](size_t i, int64_t at) -> int64_t {
      if (i >= site.inputs.size() || !site.inputs[i].present) return 0;
      const Tensor& tensor = site.inputs[i].tensor;
      return tensor.integer_at(tensor.count() == 1 ? 0 : at);
    };
    unfold.zero = static_cast<uint8_t>(zero(2, 0));
    const int64_t padded = gemm.panels(unfold.places()) * gemm.panel_columns;
    x_zeros_.assign(static_cast<size_t>(padded),
                    static_cast<int32_t>(zero(2, 0)) + gemm.b_shift(unfold.is_signed));
    w_zeros_.resize(static_cast<size_t>(site.inputs[1].shape[0]));
    for (size_t i = 0; i < w_zeros_.size(); ++i)
      w_zeros_[i] = static_cast<int32_t>(zero(3, static_cast<int64_t>(i))) + gemm.a_shift(w_signed);
  }

  void take_weights(const Argument& w, bool is_signed, const vector::ByteUnfold& unfold) {
    if (keeps_w_ && w.tensor.mark() == mark_) return;
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const int64_t rows = w.shape[0];
    weights_.resize(static_cast<size_t>(rows * gemm.words(unfold.inner(gemm))));
    weight_sums_.resize(static_cast<size_t>(rows));
    engine_->team.run(rows, CpuEngine::kGrain / (w.tensor.count() / rows) + 1,
                      [&](int64_t begin, int64_t end) {
                        vector::take_taps(unfold, gemm, bytes_of(w), is_signed, {begin, end},
                                          weights_.data(), weight_sums_.data());
                      });
    mark_ = keeps_w_ ? w.tensor.mark() : Tensor::Mark();
  }

  vector::ByteProduct product_of(int64_t inner, int64_t places, vector::Range rows,
                                 int32_t* y) const {
    const auto first = static_cast<size_t>(rows.begin);
    return {.rows = rows.count(),
            .columns = places,
            .inner = inner,
            .a = weights_.data() + first * static_cast<size_t>(engine_->byte_gemm.words(inner)),
            .a_sums = weight_sums_.data() + first,
            .a_zero = w_zeros_.data() + first,
            .a_zero_step = 1,
            .b_zero = x_zeros_[0] == 0 ? nullptr : x_zeros_.data(),
            .c = y,
            .c_row = places};
  }

  // Threads share the rows of a picture, then the panels, then blocks of the product.
  void by_panels(const vector::ByteUnfold& unfold, vector::ByteProduct product) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    reserve(1, unfold, product);
    const auto grain = [](int64_t bytes) { return CpuEngine::kGrain * 4 / (bytes + 1) + 1; };
    engine_->team.run(
        unfold.rows(), grain(unfold.pixels() * unfold.channels), [&](int64_t begin, int64_t end) {
          vector::take_picture(unfold, gemm, {begin, end}, words_.data(), pixel_sums_.data());
        });
    engine_->team.run(gemm.panels(product.columns), grain(gemm.panel_columns * product.inner),
                      [&](int64_t begin, int64_t end) {
                        vector::pack_unfolded(unfold, gemm, words_.data(), pixel_sums_.data(),
                                              {begin, end}, packed_.data(), sums_.data());
                      });
    product.b = packed_.data();
    product.b_sums = sums_.data();
    vector::multiply(product, gemm, engine_->team);
  }

  // Each thread does whole groups.
  template <class Part>
  void by_parts(int64_t parts, const Part& part) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const int threads = engine_->team.threads();
    reserve(threads, part(0).first, part(0).second);
    const auto share = [&](auto& all, size_t member) {
      return all.data() + all.size() / static_cast<size_t>(threads) * member;
    };
    vector::Shares shares(parts, threads);
    engine_->team.region([&](int member, int /*members*/, vector::Barrier& /*barrier*/) {
      const auto own = static_cast<size_t>(member);
      for (int64_t i = shares.take(member); i >= 0; i = shares.take(member)) {
        auto [unfold, product] = part(i);
        const vector::Range panels{0, gemm.panels(product.columns)};
        vector::take_picture(unfold, gemm, {0, unfold.rows()}, share(words_, own),
                             share(pixel_sums_, own));
        vector::pack_unfolded(unfold, gemm, share(words_, own), share(pixel_sums_, own), panels,
                              share(packed_, own), share(sums_, own));
        product.b = share(packed_, own);
        product.b_sums = share(sums_, own);
        gemm.run(product, {0, product.rows}, panels);
      }
    });
  }

  void reserve(int threads, const vector::ByteUnfold& unfold, const vector::ByteProduct& product) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const auto each = static_cast<size_t>(threads);
    words_.resize(each * static_cast<size_t>(unfold.words(gemm)));
    pixel_sums_.resize(each * static_cast<size_t>(unfold.rows() * unfold.pixels()));
    packed_.resize(each * static_cast<size_t>(gemm.packed_words(product.inner, product.columns)));
    sums_.resize(each * static_cast<size_t>(gemm.panels(product.columns) * gemm.panel_columns));
  }

  CpuEnginePtr engine_;
  const Attrs& attrs_;
  const bool keeps_w_;
  std::optional<ConvolutionWindow> window_;
  std::vector<uint32_t> weights_, words_, packed_;
  std::vector<int32_t> weight_sums_, pixel_sums_, sums_, x_zeros_, w_zeros_;
  Tensor::Mark mark_;  // of the weights that are packed
};

}  // namespace

std::unique_ptr<image::CallKernel> byte_convolution_kernel(CpuEnginePtr engine, const Attrs& attrs,
                                                           bool keeps_w) {
  return std::make_unique<ByteConvolutionKernel>(std::move(engine), attrs, keeps_w);
}

}  // namespace rlx::detail
