#include "rlx/vector/bytes.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/bytes.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE I integers_at(const T* from, int64_t count) {
  if (count >= kLanes) return load_integers(from);
  T part[kLanes] = {};
  copy_elements(from, part, count);
  return load_integers(part);
}
template <class T>
HWY_INLINE void store_at(I x, T* to, int64_t count) {
  if (count >= kLanes) return store_integers(x, to);
  T part[kLanes];
  store_integers(x, part);
  copy_elements(part, to, count);
}

HWY_INLINE F floats_at(const float* from, int64_t count) {
  return load_some(from, count, set(1.0f));
}
template <class T>
HWY_INLINE F floats_at(const T* from, int64_t count) {
  return to_float(integers_at(from, count));
}

// A row of scales or zeros as vectors: one again and again, along memory, or gathered.
template <class T>
struct Row {
  const T* data;
  int64_t step;
  F same;
  Row(const T* from, int64_t by, float otherwise)
      : data(from), step(by), same(set(from ? static_cast<float>(*from) : otherwise)) {
    if (!from) step = 0;
  }
  HWY_INLINE F at(int64_t i, int64_t count) const {
    if (step == 0) return same;
    if (step == 1) return floats_at(data + i, count);
    alignas(64) float lanes[kLanes] = {};
    for (int64_t k = 0; k < std::min(count, kLanes); ++k)
      lanes[k] = static_cast<float>(data[(i + k) * step]);
    return load(lanes);
  }
};

template <class T>
void quantise_to(const float* x, const Scales& s, T* y, int64_t count) {
  if (count <= 0) return;
  const Row<float> scale(s.scale, s.scale_step, 1);
  const Row<T> zero(static_cast<const T*>(s.zero), s.zero_step, 0);
  const F low = set(std::numeric_limits<T>::min()), high = set(std::numeric_limits<T>::max());
  const bool divides = s.scale && (s.scale_step != 0 || *s.scale != 1);
  // Limits are whole numbers, so what is cut before it is rounded is cut alike.
  const auto quantised = [&](int64_t i, F from, F to, I shift) HWY_ATTR {
    F steps = load_some(x + i, count - i, set(0.0f));
    if (divides) steps = steps / scale.at(i, count - i);
    steps = select(equal(steps, steps), steps, set(0.0f));
    return rounded(min(to, max(from, steps))).integer + shift;
  };
  if (zero.step == 0) {
    const F from = low - zero.same, to = high - zero.same;
    const I shift = rounded(zero.same).integer;
    for (int64_t i = 0; i < count; i += kLanes)
      store_at(quantised(i, from, to, shift), y + i, count - i);
    return;
  }
  for (int64_t i = 0; i < count; i += kLanes) {
    const F shift = zero.at(i, count - i);
    store_at(quantised(i, low - shift, high - shift, rounded(shift).integer), y + i, count - i);
  }
}

template <class T>
void dequantise_of(const T* x, const Scales& s, float* y, int64_t count) {
  if (count <= 0) return;
  const Row<float> scale(s.scale, s.scale_step, 1);
  const Row<T> zero(static_cast<const T*>(s.zero), s.zero_step, 0);
  for (int64_t i = 0; i < count; i += kLanes) {
    const F steps = to_float(integers_at(x + i, count - i)) - zero.at(i, count - i);
    store_some(steps * scale.at(i, count - i), y + i, count - i);
  }
}
// Of i32, whose difference f32 may not hold.
void dequantise_of(const int32_t* x, const Scales& s, float* y, int64_t count) {
  if (count <= 0) return;
  const Row<float> scale(s.scale, s.scale_step, 1);
  const auto* zeros = static_cast<const int32_t*>(s.zero);
  const bool same = !zeros || s.zero_step == 0;
  const I zero = set_int(zeros ? *zeros : 0);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t here = std::min(count - i, kLanes);
    I steps = integers_at(x + i, here);
    if (same) {
      steps = steps - zero;
    } else if (s.zero_step == 1) {
      steps = steps - integers_at(zeros + i, here);
    } else {
      int32_t part[kLanes] = {};
      for (int64_t k = 0; k < here; ++k) part[k] = zeros[(i + k) * s.zero_step];
      steps = steps - load_integers(part);
    }
    store_some(to_float(steps) * scale.at(i, here), y + i, here);
  }
}

void quantise(const float* x, const Scales& scales, Integer to, void* y, int64_t count) {
  switch (to) {
    case Integer::i8:
      return quantise_to(x, scales, static_cast<int8_t*>(y), count);
    case Integer::u8:
      return quantise_to(x, scales, static_cast<uint8_t*>(y), count);
    case Integer::i16:
      return quantise_to(x, scales, static_cast<int16_t*>(y), count);
    case Integer::u16:
      return quantise_to(x, scales, static_cast<uint16_t*>(y), count);
    case Integer::i32:
      return;
  }
}

void dequantise(Integer from, const void* x, const Scales& scales, float* y, int64_t count) {
  switch (from) {
    case Integer::i8:
      return dequantise_of(static_cast<const int8_t*>(x), scales, y, count);
    case Integer::u8:
      return dequantise_of(static_cast<const uint8_t*>(x), scales, y, count);
    case Integer::i16:
      return dequantise_of(static_cast<const int16_t*>(x), scales, y, count);
    case Integer::u16:
      return dequantise_of(static_cast<const uint16_t*>(x), scales, y, count);
    case Integer::i32:
      return dequantise_of(static_cast<const int32_t*>(x), scales, y, count);
  }
}

// x . w for some rows of w at a time, which share what is loaded of x.
template <class T, int columns>
struct ByteDots {
  const T* w;
  const ByteRows& b;
  int64_t row;
  F totals[columns];

  HWY_INLINE F steps(int column, int64_t i, int64_t count, F zero) const {
    return to_float(integers_at(w + column * b.inner + i, count)) - zero;
  }

  // Sums of whole steps, and then their scale: which is not the sum of what is scaled where that is
  // infinite or no number.
  HWY_INLINE void add_block(const float* x, int64_t first, int64_t end) {
    F sums[columns], zeros[columns], scales[columns];
    bool is_finite = true;
    for (int c = 0; c < columns; ++c) {
      const Scales of = b.scales_at(row + c, first);
      const float scale = *of.scale;
      is_finite = is_finite && scale - scale == 0;
      scales[c] = set(scale);
      zeros[c] = set(of.zero ? static_cast<float>(*static_cast<const T*>(of.zero)) : 0.0f);
      sums[c] = set(0.0f);
    }
    if (!is_finite) return add_special(x, first, end, zeros, scales);
    int64_t i = first;
    for (; i + kLanes <= end; i += kLanes) {
      const F left = load(x + i);
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c)
        sums[c] = mul_add(left, steps(c, i, kLanes, zeros[c]), sums[c]);
    }
    if (i < end) {
      const F left = load_some(x + i, end - i, set(0.0f));
      for (int c = 0; c < columns; ++c)
        sums[c] = mul_add(left, steps(c, i, end - i, zeros[c]), sums[c]);
    }
    for (int c = 0; c < columns; ++c) totals[c] = mul_add(sums[c], scales[c], totals[c]);
  }

  HWY_NOINLINE void add_special(const float* x, int64_t first, int64_t end, const F* zeros,
                                const F* scales) {
    for (int c = 0; c < columns; ++c)
      for (int64_t i = first; i < end; i += kLanes) {
        alignas(64) float products[kLanes];
        store(load_some(x + i, end - i, set(0.0f)) * (steps(c, i, end - i, zeros[c]) * scales[c]),
              products);
        totals[c] = totals[c] + load_some(products, end - i, set(0.0f));
      }
  }
};

template <class T, int columns>
void multiply_columns(const ByteRowsProduct& p, int64_t column) {
  const T* w = static_cast<const T*>(p.b.data) + column * p.b.inner;
  for (int64_t r = 0; r < p.rows; ++r) {
    ByteDots<T, columns> dots{w, p.b, column, {}};
    for (F& total : dots.totals) total = set(0.0f);
    for (int64_t k = 0; k < p.b.inner; k += p.b.block)
      dots.add_block(p.a + r * p.a_row, k, k + p.b.block);
    for (int c = 0; c < columns; ++c) p.c[r * p.c_row + column + c] = sum(dots.totals[c]);
  }
}

template <class T>
void multiply_rows(const ByteRowsProduct& p, Range columns) {
  constexpr int kColumns = 4;
  int64_t j = columns.begin;
  for (; j + kColumns <= columns.end; j += kColumns) multiply_columns<T, kColumns>(p, j);
  for (; j < columns.end; ++j) multiply_columns<T, 1>(p, j);
}

void multiply(const ByteRowsProduct& product, Range columns) {
  if (product.b.is_signed)
    multiply_rows<int8_t>(product, columns);
  else
    multiply_rows<uint8_t>(product, columns);
}

Bytes make() { return {.quantise = quantise, .dequantise = dequantise, .multiply = multiply}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Bytes bytes(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
