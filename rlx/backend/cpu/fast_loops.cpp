#include "rlx/backend/cpu/fast_loops.h"

#include <algorithm>

#include "rlx/backend/cpu/onednn.h"

namespace rlx::detail {
namespace {

bool all_f32(std::initializer_list<const Tensor*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor* tensor) { return tensor->dtype() == DType::f32; });
}

// Bytes less their zero point, from -255 to 255.
template <class T>
int16_t less(T byte, int16_t zero) {
  return static_cast<int16_t>(static_cast<int16_t>(byte) - zero);
}
std::vector<int16_t> zeros_of(const Tensor* zero, int64_t count) {
  std::vector<int16_t> zeros(static_cast<size_t>(count), 0);
  for (int64_t i = 0; zero && i < count; ++i)
    zeros[static_cast<size_t>(i)] =
        static_cast<int16_t>(zero->integer_at(zero->count() == 1 ? 0 : i));
  return zeros;
}

template <class A, class B>
void few_rows(const A* a, int16_t a_zero, const B* b, const std::vector<int16_t>& b_zero,
              int64_t rows, int64_t inner, int64_t columns, int32_t* y) {
  std::fill(y, y + rows * columns, 0);
  for (int64_t k = 0; k < inner; ++k, b += columns)
    for (int64_t r = 0; r < rows; ++r) {
      const int16_t factor = less(a[r * inner + k], a_zero);
      int32_t* row = y + r * columns;
      if (factor == 0) continue;
      for (int64_t c = 0; c < columns; ++c)
        row[c] += static_cast<int32_t>(factor) *
                  static_cast<int32_t>(less(b[c], b_zero[static_cast<size_t>(c)]));
    }
}

// As products of f32, which are exact while no sum passes 2^24: 258 of 255 * 255 do not.
template <class A, class B>
bool many_rows(const A* a, int16_t a_zero, const B* b, const std::vector<int16_t>& b_zero,
               int64_t rows, int64_t inner, int64_t columns, int32_t* y, OneDnn& onednn) {
  constexpr int64_t kPart = 256;
  for (int64_t first = 0; first < inner; first += kPart) {
    const int64_t part = std::min(kPart, inner - first);
    Tensor left(DType::f32, {rows, part}), right(DType::f32, {part, columns}),
        product(DType::f32, {rows, columns});
    float* to = left.mutable_data<float>().data();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < part; ++k) *to++ = less(a[r * inner + first + k], a_zero);
    to = right.mutable_data<float>().data();
    const B* from = b + first * columns;
    for (int64_t k = 0; k < part; ++k)
      for (int64_t c = 0; c < columns; ++c) *to++ = less(*from++, b_zero[static_cast<size_t>(c)]);
    if (!onednn.matmul(left, false, right, false, nullptr, product)) return false;
    const float* sums = product.data<float>().data();
    for (int64_t i = 0; i < rows * columns; ++i)
      y[i] = (first ? y[i] : 0) + static_cast<int32_t>(sums[i]);
  }
  return true;
}

template <class A, class B>
void multiply(const Tensor& a, int16_t a_zero, const Tensor& b, const std::vector<int16_t>& b_zero,
              Tensor& y, OneDnn& onednn) {
  const int64_t inner = a.shape().back(), columns = y.shape().back(), rows = y.count() / columns;
  const A* left = a.data<A>().data();
  const B* right = b.data<B>().data();
  int32_t* to = y.mutable_data<int32_t>().data();
  if (rows >= 8 && inner > 0 &&
      many_rows(left, a_zero, right, b_zero, rows, inner, columns, to, onednn))
    return;
  few_rows(left, a_zero, right, b_zero, rows, inner, columns, to);
}

}  // namespace

bool scale_channels(const Tensor& x, const std::vector<double>& scale,
                    const std::vector<double>& shift, Tensor& y) {
  if (!all_f32({&x, &y}) || x.count() == 0) return false;
  const auto channels = static_cast<int64_t>(scale.size());
  const int64_t after = x.count() / (x.shape()[0] * channels);
  const float* from = x.data<float>().data();
  float* to = y.mutable_data<float>().data();
  for (int64_t row = 0; row < x.shape()[0] * channels; ++row) {
    const auto c = static_cast<size_t>(row % channels);
    for (int64_t i = 0; i < after; ++i) *to++ = static_cast<float>(*from++ * scale[c] + shift[c]);
  }
  return true;
}

bool multiply_bytes(const Tensor& a, const Tensor& b, const Tensor* a_zero, const Tensor* b_zero,
                    Tensor& y, OneDnn& onednn) {
  const int64_t columns = y.shape().back();
  const bool one_matrix = b.count() == b.shape().back() * b.shape()[b.shape().size() - 2];
  const bool zeros = (!a_zero || a_zero->count() == 1) &&
                     (!b_zero || b_zero->count() == 1 || b_zero->count() == columns);
  const int64_t inner = a.shape().back();
  // A batch of b alone would repeat a.
  if (!one_matrix || !zeros || y.count() == 0 || a.count() != y.count() / columns * inner)
    return false;
  const int16_t zero = zeros_of(a_zero, 1)[0];
  const std::vector<int16_t> column_zeros = zeros_of(b_zero, columns);
  const bool a_signed = a.dtype() == DType::i8, b_signed = b.dtype() == DType::i8;
  if (a_signed && b_signed)
    multiply<int8_t, int8_t>(a, zero, b, column_zeros, y, onednn);
  else if (a_signed)
    multiply<int8_t, uint8_t>(a, zero, b, column_zeros, y, onednn);
  else if (b_signed)
    multiply<uint8_t, int8_t>(a, zero, b, column_zeros, y, onednn);
  else
    multiply<uint8_t, uint8_t>(a, zero, b, column_zeros, y, onednn);
  return true;
}

bool scale_bytes(const Tensor& x, const Tensor& scale, const Tensor* zero, Tensor& y) {
  if (!all_f32({&scale, &y}) || scale.count() != 1 || (zero && zero->count() != 1)) return false;
  const float factor = scale.data<float>()[0];
  const int16_t shift = zeros_of(zero, 1)[0];
  float* to = y.mutable_data<float>().data();
  const auto each = [&](auto bytes) {
    for (const auto byte : bytes) *to++ = static_cast<float>(less(byte, shift)) * factor;
  };
  if (x.dtype() == DType::i8)
    each(x.data<int8_t>());
  else if (x.dtype() == DType::u8)
    each(x.data<uint8_t>());
  else
    return false;
  return true;
}

bool convolve_small(const Tensor& x, const Tensor& w, const Tensor* bias,
                    const ConvolutionWindow& window, Tensor& y) {
  constexpr int64_t kFew = int64_t{1} << 19;  // products
  if (window.transposed || x.shape().size() != 3 || !all_f32({&x, &w, &y}) ||
      (bias && !all_f32({bias})) || y.count() * w.shape()[1] * w.shape()[2] > kFew)
    return false;
  const int64_t length = x.shape()[2], channels = w.shape()[1], width = w.shape()[2],
                outputs = y.shape()[1], places = y.shape()[2];
  float* to = y.count() > 0 ? y.mutable_data<float>().data() : nullptr;
  for (int64_t b = 0; b < y.shape()[0]; ++b)
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t group = o / (outputs / window.groups);
      const float* from = x.data<float>().data() + (b * x.shape()[1] + group * channels) * length;
      const float* weights = w.data<float>().data() + o * channels * width;
      const double first = bias ? bias->data<float>()[static_cast<size_t>(o)] : 0;
      for (int64_t t = 0; t < places; ++t) {
        const int64_t begin = t * window.strides[0] - window.pads_before[0];
        double sum = first;
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t k = 0; k < width; ++k) {
            const int64_t at = begin + k * window.dilations[0];
            if (at >= 0 && at < length)
              sum += static_cast<double>(from[c * length + at]) * weights[c * width + k];
          }
        *to++ = static_cast<float>(sum);
      }
    }
  return true;
}

}  // namespace rlx::detail
