#include "rlx/backend/cpu/fast_quantised.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "rlx/backend/cpu/byte_tiles.h"
#include "rlx/backend/cpu/nest_rows.h"
#include "rlx/backend/cpu/packed_of.h"

namespace rlx::detail {

std::optional<vector::Integer> integer_of(DType dtype) {
  switch (dtype) {
    case DType::i8:
      return vector::Integer::i8;
    case DType::u8:
    case DType::boolean:
      return vector::Integer::u8;
    case DType::i16:
      return vector::Integer::i16;
    case DType::u16:
      return vector::Integer::u16;
    case DType::i32:
      return vector::Integer::i32;
    default:
      return std::nullopt;
  }
}

namespace {

using image::Argument;

// The scales of a row that begins where the nest is.
struct ScaleOperands {
  const float* scale;
  const std::byte* zero;
  int64_t width;  // of a zero point
  ScaleOperands(const image::CallSite& site, DType integers)
      : scale(floats_of(site.inputs[1])),
        zero(site.inputs.size() > 2 && site.inputs[2].present ? bytes_of(site.inputs[2]) : nullptr),
        width(bytes_of(integers)) {}
  vector::Scales at(const std::array<int64_t, Nest::kMostOperands>& at, const Nest& nest) const {
    const auto& steps = nest.inner().steps;
    return {scale + at[1], steps[1], zero ? zero + at[2] * width : nullptr, steps[2]};
  }
};

// Elements of x along memory; scales and zero points are read as they lie.
bool reads_rows(const image::CallSite& site, const Nest& nest) {
  return !site.inputs[0].is_view || nest.inner().steps[0] == 1 || nest.inner().extent == 1;
}

bool run_quantise(const CpuEngine& engine, image::CallSite& site) {
  Tensor& y = site.results[0];
  const auto integer = integer_of(y.dtype());
  Nest nest;
  if (!integer || !is_f32(site.inputs[0]) || !is_f32(site.inputs[1]) ||
      !nest.make(site.inputs, y.shape()) || !reads_rows(site, nest))
    return false;
  if (y.count() == 0) return true;
  const float* x = floats_of(site.inputs[0]);
  std::byte* to = y.mutable_bytes().data();
  const ScaleOperands scales(site, y.dtype());
  each_row(engine, nest, [&](const auto& at, int64_t element, int64_t count) {
    engine.bytes.quantise(x + at[0], scales.at(at, nest), *integer, to + element * scales.width,
                          count);
  });
  return true;
}

bool run_dequantise(const CpuEngine& engine, image::CallSite& site) {
  Tensor& y = site.results[0];
  const DType from = site.inputs[0].tensor.dtype();
  const auto integer = integer_of(from);
  Nest nest;
  if (!integer || y.dtype() != DType::f32 || !is_f32(site.inputs[1]) ||
      !nest.make(site.inputs, y.shape()) || !reads_rows(site, nest))
    return false;
  if (y.count() == 0) return true;
  const std::byte* x = bytes_of(site.inputs[0]);
  float* to = y.mutable_data<float>().data();
  const ScaleOperands scales(site, from);
  each_row(engine, nest, [&](const auto& at, int64_t element, int64_t count) {
    engine.bytes.dequantise(*integer, x + at[0] * scales.width, scales.at(at, nest), to + element,
                            count);
  });
  return true;
}

bool run_fake_quantise(const CpuEngine& engine, int64_t bits, image::CallSite& site) {
  Tensor& y = site.results[0];
  Nest nest;
  if (!is_f32(site.inputs[0]) || !is_f32(site.inputs[1]) || y.dtype() != DType::f32 ||
      !nest.make(site.inputs, y.shape()) || !reads_rows(site, nest))
    return false;
  if (y.count() == 0) return true;
  const float *x = floats_of(site.inputs[0]), *scale = floats_of(site.inputs[1]);
  float* to = y.mutable_data<float>().data();
  const float half = std::ldexp(1.0f, static_cast<int>(bits) - 1);
  each_row(engine, nest, [&](const auto& at, int64_t element, int64_t count) {
    engine.bytes.fake_quantise(x + at[0], {scale + at[1], nest.inner().steps[1]}, -half, half - 1,
                               to + element, count);
  });
  return true;
}

class ByteProductKernel : public image::CallKernel {
 public:
  ByteProductKernel(CpuEnginePtr engine, bool keeps_b, std::unique_ptr<TileProgram> tile)
      : engine_(std::move(engine)),
        keeps_b_(keeps_b),
        tile_(std::move(tile)),
        scratch_(engine_->team.threads()) {}

  bool run(image::CallSite& site) override {
    const Argument &a = site.inputs[0], &b = site.inputs[1];
    Tensor& result = site.results[0];
    if (!has_few_axes(a) || !has_few_axes(b)) return false;
    if (tile_ && !tile_->place(site, result.shape().size() - 1)) return false;
    if (result.count() == 0) return true;
    const Steps a_steps(a), b_steps(b);
    take_extents(site);
    int64_t matrices = result.count() / (rows_ * columns_);
    const bool one_b = is_one(b);
    if (one_b && !a.is_view && count(a.shape) == rows_ * matrices * inner_) {
      rows_ *= matrices;
      matrices = 1;
    }
    vector::ByteMatrix left = matrix_of(a), right = matrix_of(b);
    if (!take_zeros(site, left.is_signed, right.is_signed)) return false;
    const std::byte *a_data = bytes_of(a), *b_data = bytes_of(b);
    int32_t* c = tile_ ? nullptr : result.mutable_data<int32_t>().data();
    for (int64_t i = 0; i < matrices; ++i) {
      left.data = a_data + start_of(a, a_steps, result.shape(), i);
      right.data = b_data + start_of(b, b_steps, result.shape(), i);
      if (!one_b || i == 0) pack(right, b.tensor, one_b && keeps_b_);
      multiply(left, c, i * rows_);
    }
    return true;
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    const Argument& b = site.inputs[1];
    if (!has_few_axes(site.inputs[0]) || !has_few_axes(b)) return false;
    if (site.results[0].count() == 0) return true;
    take_extents(site);
    if (keeps_b_ && is_one(b))
      holdings.pack(1, order_of(matrix_of(b), b.is_view ? b.offset : 0),
                    4 * (packed_words() + packed_sums()));
    return true;
  }
  void pack(const image::CallSite& site) override {
    if (site.results[0].count() == 0) return;
    const Argument& b = site.inputs[1];
    take_extents(site);
    if (keeps_b_ && is_one(b)) pack(matrix_of(b), b.tensor, true);
  }

 private:
  void take_extents(const image::CallSite& site) {
    const Shape& a = site.inputs[0].shape;
    rows_ = a[a.size() - 2];
    columns_ = site.results[0].shape().back();
    inner_ = a.back();
  }
  bool is_one(const Argument& b) const { return count(b.shape) == inner_ * columns_; }
  static vector::ByteMatrix matrix_of(const Argument& b) {
    const Steps steps(b);
    const size_t last = b.shape.size() - 1;
    return {bytes_of(b), b.tensor.dtype() == DType::i8, steps[last - 1], steps[last]};
  }

  // Where the matrices of a batch begin, in an operand whose batch dims broadcast to the result's.
  static int64_t start_of(const Argument& x, const Steps& steps, const Shape& result,
                          int64_t index) {
    const size_t own = x.shape.size() - 2, axes = result.size() - 2;
    int64_t start = 0;
    for (size_t d = axes; d-- > 0; index /= result[d])
      if (d + own >= axes && x.shape[d + own - axes] != 1)
        start += index % result[d] * steps[d + own - axes];
    return start;
  }

  // False where they differ from matrix to matrix.
  bool take_zeros(const image::CallSite& site, bool a_signed, bool b_signed) {
    const auto read = [&](size_t i, int64_t most, int32_t shift, int64_t padded,
                          std::vector<int32_t>& zeros) {
      const bool given = i < site.inputs.size() && site.inputs[i].present;
      const int64_t number = given ? count(site.inputs[i].shape) : 0;
      if (given && ((number != 1 && number != most) || site.inputs[i].is_view)) return false;
      zeros.assign(static_cast<size_t>(number > 1 ? std::max(number, padded) : padded), shift);
      for (size_t k = 0; given && k < zeros.size(); ++k) {
        const auto at = number == 1 ? 0 : static_cast<int64_t>(k);
        if (at < number)
          zeros[k] = static_cast<int32_t>(site.inputs[i].tensor.integer_at(at)) + shift;
      }
      return true;
    };
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    return read(2, rows_, gemm.a_shift(a_signed), 1, a_zeros_) &&
           read(3, columns_, gemm.b_shift(b_signed), gemm.panels(columns_) * gemm.panel_columns,
                b_zeros_);
  }

  // The sums of columns lie behind the words, of four bytes each as floats are.
  int64_t packed_words() const { return engine_->byte_gemm.packed_words(inner_, columns_); }
  int64_t packed_sums() const {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    return gemm.panels(columns_) * gemm.panel_columns;
  }
  // A view of the weight may be another part of it in every run.
  PackedWeights::Order order_of(const vector::ByteMatrix& b, int64_t offset) const {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    return {kPackedByteProduct,
            gemm.in_word,
            gemm.panel_columns,
            offset,
            inner_,
            columns_,
            b.row,
            b.column};
  }
  void pack(const vector::ByteMatrix& b, const Tensor& weight, bool is_kept) {
    const int64_t offset = static_cast<const std::byte*>(b.data) - weight.bytes().data();
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const int64_t words = packed_words();
    const auto make = [&](float* to) {
      auto* packed = reinterpret_cast<uint32_t*>(to);
      auto* sums_of = reinterpret_cast<int32_t*>(to + words);
      engine_->team.run(gemm.panels(columns_), CpuEngine::kGrain / (inner_ * 16 + 1) + 1,
                        [&](int64_t begin, int64_t end) {
                          gemm.pack(b, inner_, columns_, {begin, end}, packed, sums_of);
                        });
    };
    const float* made =
        kept_.get(*engine_, weight, is_kept, order_of(b, offset), words + packed_sums(), make);
    packed_ = reinterpret_cast<const uint32_t*>(made);
    sums_ = reinterpret_cast<const int32_t*>(made + words);
  }

  void multiply(const vector::ByteMatrix& a, int32_t* c, int64_t first_row) {
    const vector::ByteGemm& gemm = engine_->byte_gemm;
    const bool has_b_zeros =
        std::any_of(b_zeros_.begin(), b_zeros_.end(), [](int32_t zero) { return zero != 0; });
    left_.resize(static_cast<size_t>(rows_ * gemm.words(inner_)));
    left_sums_.resize(static_cast<size_t>(rows_));
    engine_->team.run(rows_, CpuEngine::kGrain / (inner_ + 1) + 1, [&](int64_t begin, int64_t end) {
      gemm.take_rows(a, inner_, {begin, end}, left_.data(),
                     has_b_zeros ? left_sums_.data() : nullptr);
    });
    const vector::ByteProduct product{.rows = rows_,
                                      .columns = columns_,
                                      .inner = inner_,
                                      .a = left_.data(),
                                      .a_sums = left_sums_.data(),
                                      .b = packed_,
                                      .b_sums = sums_,
                                      .a_zero = a_zeros_.data(),
                                      .a_zero_step = a_zeros_.size() > 1 ? 1 : 0,
                                      .b_zero = has_b_zeros ? b_zeros_.data() : nullptr,
                                      .c = c ? c + first_row * columns_ : nullptr,
                                      .c_row = columns_};
    if (tile_)
      multiply_in_tiles(*engine_, product, *tile_, {first_row, 0}, scratch_);
    else
      vector::multiply(product, gemm, engine_->team);
  }

  CpuEnginePtr engine_;
  bool keeps_b_;
  std::unique_ptr<TileProgram> tile_;
  Scratch scratch_;
  int64_t rows_ = 0, columns_ = 0, inner_ = 0;
  PackedOf kept_;
  const uint32_t* packed_ = nullptr;
  const int32_t* sums_ = nullptr;  // of the columns that are packed
  std::vector<uint32_t> left_;
  std::vector<int32_t> left_sums_, a_zeros_, b_zeros_;
};

}  // namespace

std::unique_ptr<image::CallKernel> quantise_kernel(CpuEnginePtr engine) {
  return make_kernel(
      [engine = std::move(engine)](image::CallSite& site) { return run_quantise(*engine, site); });
}
std::unique_ptr<image::CallKernel> dequantise_kernel(CpuEnginePtr engine) {
  return make_kernel([engine = std::move(engine)](image::CallSite& site) {
    return run_dequantise(*engine, site);
  });
}
std::unique_ptr<image::CallKernel> fake_quantise_kernel(CpuEnginePtr engine, int64_t bits) {
  return make_kernel([engine = std::move(engine), bits](image::CallSite& site) {
    return run_fake_quantise(*engine, bits, site);
  });
}
std::unique_ptr<image::CallKernel> byte_product_kernel(CpuEnginePtr engine, bool keeps_b,
                                                       std::unique_ptr<TileProgram> tile) {
  return std::make_unique<ByteProductKernel>(std::move(engine), keeps_b, std::move(tile));
}

}  // namespace rlx::detail
