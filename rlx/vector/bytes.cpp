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

// Steps of a scale and a zero point that all elements share, cut to what fits in T.
template <class T>
struct Steps {
  F scale, from, to;
  I shift;
  Steps(float by, float zero)
      : scale(set(by)),
        // Limits are whole numbers, so what is cut before it is rounded is cut alike.
        from(set(static_cast<float>(std::numeric_limits<T>::min()) - zero)),
        to(set(static_cast<float>(std::numeric_limits<T>::max()) - zero)),
        shift(set_int(static_cast<int32_t>(zero))) {}
  template <bool divides>
  HWY_INLINE I of(F x) const {
    if constexpr (divides) x = x / scale;
    const F steps = select(equal(x, x), x, set(0.0f));
    return rounded(min(to, max(from, steps))).integer + shift;
  }
};

template <class T, bool divides>
void quantise_alike(const float* x, const Steps<T>& all, T* y, int64_t count) {
  const Steps<T> steps = all;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store_integers(steps.template of<divides>(load(x + i)), y + i);
  if (i < count)
    store_at(steps.template of<divides>(load_part(x + i, count - i)), y + i, count - i);
}

template <class T>
void quantise_to(const float* x, const Scales& s, T* y, int64_t count) {
  if (count <= 0) return;
  const Row<float> scale(s.scale, s.scale_step, 1);
  const Row<T> zero(static_cast<const T*>(s.zero), s.zero_step, 0);
  if (scale.step == 0 && zero.step == 0) {
    const float by = s.scale ? *s.scale : 1;
    const Steps<T> steps(by, zero.data ? static_cast<float>(*zero.data) : 0);
    if (by == 1) return quantise_alike<T, false>(x, steps, y, count);
    return quantise_alike<T, true>(x, steps, y, count);
  }
  const F low = set(std::numeric_limits<T>::min()), high = set(std::numeric_limits<T>::max());
  for (int64_t i = 0; i < count; i += kLanes) {
    const F shift = zero.at(i, count - i),
            x_here = load_some(x + i, count - i, set(0.0f)) / scale.at(i, count - i),
            steps = select(equal(x_here, x_here), x_here, set(0.0f));
    const I y_here = rounded(min(high - shift, max(low - shift, steps))).integer;
    store_at(y_here + rounded(shift).integer, y + i, count - i);
  }
}

// (x - zero) * scale: of all elements alike, or of each its own. Differences of i32 are those of
// integers: f32 may not hold them.
template <class T>
struct Zeros {
  using Vector = F;
  static HWY_INLINE F less_zero(I x, F zero) { return to_float(x) - zero; }
  static HWY_INLINE F one(T zero) { return set(static_cast<float>(zero)); }
  static HWY_INLINE F several(const T* from, int64_t count) { return floats_at(from, count); }
};
template <>
struct Zeros<int32_t> {
  using Vector = I;
  static HWY_INLINE F less_zero(I x, I zero) { return to_float(x - zero); }
  static HWY_INLINE I one(int32_t zero) { return set_int(zero); }
  static HWY_INLINE I several(const int32_t* from, int64_t count) {
    return integers_at(from, count);
  }
};
template <class T, bool alike>
struct Values {
  const float* scales;
  const T* zeros;
  F scale;
  typename Zeros<T>::Vector zero;
  Values(const float* scales_from, const T* zeros_from)
      : scales(scales_from),
        zeros(zeros_from),
        scale(set(scales_from ? *scales_from : 1.0f)),
        zero(Zeros<T>::one(zeros_from ? *zeros_from : T{0})) {}
  HWY_INLINE F of(const T* x, int64_t i, int64_t count) const {
    const I integers = integers_at(x + i, count);
    if constexpr (alike) return Zeros<T>::less_zero(integers, zero) * scale;
    return Zeros<T>::less_zero(integers, Zeros<T>::several(zeros + i, count)) *
           floats_at(scales + i, count);
  }
};

// Body(values) with what is quick, and false where nothing is: steps other than 0 and 1.
template <class T, class Body>
bool with_values(const Scales& s, const Body& body) {
  const auto* zeros = static_cast<const T*>(s.zero);
  const int64_t scale_step = s.scale ? s.scale_step : 0, zero_step = zeros ? s.zero_step : 0;
  if (scale_step == 0 && zero_step == 0) return body(Values<T, true>(s.scale, zeros)), true;
  if (scale_step == 1 && zero_step == 1) return body(Values<T, false>(s.scale, zeros)), true;
  return false;
}

template <class T>
struct ToFloats {
  const T* x;
  float* y;
  int64_t count;
  template <class Values>
  void operator()(const Values& given) const {
    const Values values = given;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) store(values.of(x, i, kLanes), y + i);
    if (i < count) store_part(values.of(x, i, count - i), y + i, count - i);
  }
};

template <class T>
void dequantise_of(const T* x, const Scales& s, float* y, int64_t count) {
  if (count <= 0 || with_values<T>(s, ToFloats<T>{x, y, count})) return;
  const auto* zeros = static_cast<const T*>(s.zero);
  for (int64_t i = 0; i < count; ++i) {
    const Scales one{s.scale ? s.scale + i * s.scale_step : nullptr, 0,
                     zeros ? zeros + i * s.zero_step : nullptr, 0};
    with_values<T>(one, ToFloats<T>{x + i, y + i, 1});
  }
}

template <class From, class To, bool divides>
struct Requantise {
  const From* x;
  To* y;
  int64_t count;
  const Steps<To>& steps;
  template <class Values>
  void operator()(const Values& given) const {
    const Values values = given;
    const Steps<To> to = steps;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      store_integers(to.template of<divides>(values.of(x, i, kLanes)), y + i);
    if (i < count) store_at(to.template of<divides>(values.of(x, i, count - i)), y + i, count - i);
  }
};

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

void fake_quantise(const float* x, const Scales& scales, float low, float high, float* y,
                   int64_t count) {
  if (count <= 0) return;
  const Row<float> scale(scales.scale, scales.scale_step, 1);
  const F least = set(low), most = set(high);
  const auto of = [&](F x_here, F by) {
    const F quotient = x_here / by, steps = select(equal(quotient, quotient), quotient, set(0.0f));
    const F y_here = rounded(min(most, max(least, steps))).value * by;
    return select(equal(x_here, x_here), y_here, x_here);
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(of(load(x + i), scale.at(i, kLanes)), y + i);
  if (i < count)
    store_part(of(load_part(x + i, count - i), scale.at(i, count - i)), y + i, count - i);
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

template <class From, class To>
void requantise_of(const From* x, const Scales& of, const Scales& s, To* y, int64_t count) {
  if (count <= 0) return;
  const auto* zero = static_cast<const To*>(s.zero);
  if ((!s.scale || s.scale_step == 0) && (!zero || s.zero_step == 0)) {
    const float by = s.scale ? *s.scale : 1;
    const Steps<To> steps(by, zero ? static_cast<float>(*zero) : 0);
    const bool done = by == 1
                          ? with_values<From>(of, Requantise<From, To, false>{x, y, count, steps})
                          : with_values<From>(of, Requantise<From, To, true>{x, y, count, steps});
    if (done) return;
  }
  const auto* from_zeros = static_cast<const From*>(of.zero);
  for (int64_t i = 0; i < count; ++i) {
    float value;
    dequantise_of(x + i,
                  {of.scale ? of.scale + i * of.scale_step : nullptr, 0,
                   from_zeros ? from_zeros + i * of.zero_step : nullptr, 0},
                  &value, 1);
    quantise_to(&value,
                {s.scale ? s.scale + i * s.scale_step : nullptr, 0,
                 zero ? zero + i * s.zero_step : nullptr, 0},
                y + i, 1);
  }
}
template <class To>
void requantise_to(Integer from, const void* x, const Scales& of, const Scales& scales, To* y,
                   int64_t count) {
  switch (from) {
    case Integer::i8:
      return requantise_of(static_cast<const int8_t*>(x), of, scales, y, count);
    case Integer::u8:
      return requantise_of(static_cast<const uint8_t*>(x), of, scales, y, count);
    case Integer::i32:
      return requantise_of(static_cast<const int32_t*>(x), of, scales, y, count);
    case Integer::i16:
    case Integer::u16:
      return;
  }
}
void requantise(Integer from, const void* x, const Scales& of, Integer to, const Scales& scales,
                void* y, int64_t count) {
  if (to == Integer::i8) requantise_to(from, x, of, scales, static_cast<int8_t*>(y), count);
  if (to == Integer::u8) requantise_to(from, x, of, scales, static_cast<uint8_t*>(y), count);
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

Bytes make() {
  return {.quantise = quantise,
          .dequantise = dequantise,
          .requantise = requantise,
          .fake_quantise = fake_quantise,
          .multiply = multiply};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Bytes bytes(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
