// Stockham's passes over lanes that are one line each: element k of all lines lies as a vector of
// real parts and one of imaginary parts, so that every radix is plain vector code.
#include "rlx/vector/fft.h"

#include <algorithm>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/fft.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/pairs.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

HWY_INLINE C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }
HWY_INLINE C operator-(C a, C b) { return {a.re - b.re, a.im - b.im}; }
HWY_INLINE C times(C a, F re, F im) {
  return {neg_mul_add(a.im, im, a.re * re), mul_add(a.im, re, a.re * im)};
}
HWY_INLINE C turned(C a) { return {a.im, set(0.0f) - a.re}; }  // times -i

// ---- The butterflies: a transform of `radix` numbers in registers ----

template <int radix>
struct Butterfly;

template <>
struct Butterfly<2> {
  static HWY_INLINE void run(C* v) {
    const C a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
  }
};

HWY_INLINE void four(C& a, C& b, C& c, C& d) {
  const C even = a + c, odd = b + d, other = a - c, across = b - d;
  a = even + odd;
  c = even - odd;
  b = {other.re + across.im, other.im - across.re};
  d = {other.re - across.im, other.im + across.re};
}
template <>
struct Butterfly<4> {
  static HWY_INLINE void run(C* v) { four(v[0], v[1], v[2], v[3]); }
};

template <>
struct Butterfly<8> {
  static HWY_INLINE void run(C* v) {
    C e0 = v[0], e1 = v[2], e2 = v[4], e3 = v[6], o0 = v[1], o1 = v[3], o2 = v[5], o3 = v[7];
    four(e0, e1, e2, e3);
    four(o0, o1, o2, o3);
    const F root = set(0.70710678118654752f);
    o1 = {(o1.re + o1.im) * root, (o1.im - o1.re) * root};
    o2 = turned(o2);
    o3 = {(o3.im - o3.re) * root, set(0.0f) - (o3.re + o3.im) * root};
    v[0] = e0 + o0, v[4] = e0 - o0;
    v[1] = e1 + o1, v[5] = e1 - o1;
    v[2] = e2 + o2, v[6] = e2 - o2;
    v[3] = e3 + o3, v[7] = e3 - o3;
  }
};

// cos and sin of j / radix of a turn.
template <int radix>
struct Turn;
template <>
struct Turn<3> {
  static constexpr float kCos[] = {1, -0.5f}, kSin[] = {0, 0.86602540378443865f};
};
template <>
struct Turn<5> {
  static constexpr float kCos[] = {1, 0.30901699437494742f, -0.80901699437494742f},
                         kSin[] = {0, 0.95105651629515357f, 0.58778525229247313f};
};
template <>
struct Turn<7> {
  static constexpr float kCos[] = {1, 0.62348980185873353f, -0.22252093395631440f,
                                   -0.90096886790241913f},
                         kSin[] = {0, 0.78183148246802981f, 0.97492791218182361f,
                                   0.43388373911755812f};
};

// An odd radix: sums and differences of opposite numbers, then their cosines and sines.
template <int radix>
struct Butterfly {
  static constexpr int kPairs = radix / 2;
  static HWY_INLINE void run(C* v) {
    C sums[kPairs + 1], differences[kPairs + 1];  // from 1 on
    C all = v[0];
#pragma GCC unroll 4
    for (int j = 1; j <= kPairs; ++j) {
      sums[j] = v[j] + v[radix - j];
      differences[j] = v[j] - v[radix - j];
      all = all + sums[j];
    }
#pragma GCC unroll 4
    for (int k = 1; k <= kPairs; ++k) {
      C a = v[0], b = {set(0.0f), set(0.0f)};
#pragma GCC unroll 4
      for (int j = 1; j <= kPairs; ++j) {
        const int at = j * k % radix, folded = at <= kPairs ? at : radix - at;
        const F c = set(Turn<radix>::kCos[folded]);
        const F s = set(at <= kPairs ? Turn<radix>::kSin[folded] : -Turn<radix>::kSin[folded]);
        a = {mul_add(sums[j].re, c, a.re), mul_add(sums[j].im, c, a.im)};
        if (j == 1)
          b = {differences[j].re * s, differences[j].im * s};
        else
          b = {mul_add(differences[j].re, s, b.re), mul_add(differences[j].im, s, b.im)};
      }
      v[k] = {a.re + b.im, a.im - b.re};
      v[radix - k] = {a.re - b.im, a.im + b.re};
    }
    v[0] = all;
  }
};

// ---- Where numbers come from and go to ----

// The scratch: [length, 2, kLanes].
struct Planes {
  float* data;
  HWY_INLINE C get(int64_t i) const {
    const float* at = data + i * 2 * kLanes;
    return {load(at), load(at + kLanes)};
  }
  HWY_INLINE void put(int64_t i, C v) const {
    float* at = data + i * 2 * kLanes;
    store(v.re, at);
    store(v.im, at + kLanes);
  }
};
// Lines side by side in memory.
struct Source {
  const float* data;
  int64_t step;  // floats
  bool swapped;
  HWY_INLINE C get(int64_t i) const {
    const float* at = data + i * step;
    const C v = load_pairs(at);
    return swapped ? C{v.im, v.re} : v;
  }
};
struct Sink {
  float* data;
  int64_t step;
  bool swapped;
  float scale;
  const float* between;
  HWY_INLINE void put(int64_t i, C v) const {
    if (between) {
      const float* turn = between + i * 2 * kLanes;
      v = times(v, load(turn), load(turn + kLanes));
    }
    if (scale != 1) v = {v.re * set(scale), v.im * set(scale)};
    if (swapped) v = {v.im, v.re};
    store_pairs(v, data + i * step);
  }
};

// ---- Passes ----

// y[q + s (radix p + k)] = turn(p k of radix m) * sum over j of x[q + s (p + m j)] turn(j k of
// radix).
struct Pass {
  int64_t s, m;
  const float* turns;  // [m, radix - 1], pairs
};
template <int radix, class In, class Out>
HWY_NOINLINE void run_pass(const Pass& pass, const In& x, const Out& y) {
  const int64_t s = pass.s, m = pass.m;
  for (int64_t p = 0; p < m; ++p) {
    const float* turns = pass.turns + p * 2 * (radix - 1);
    if (p == 0) {
      for (int64_t q = 0; q < s; ++q) {
        C v[radix];
#pragma GCC unroll 8
        for (int j = 0; j < radix; ++j) v[j] = x.get(q + s * m * j);
        Butterfly<radix>::run(v);
#pragma GCC unroll 8
        for (int k = 0; k < radix; ++k) y.put(q + s * k, v[k]);
      }
      continue;
    }
    for (int64_t q = 0; q < s; ++q) {
      C v[radix];
#pragma GCC unroll 8
      for (int j = 0; j < radix; ++j) v[j] = x.get(q + s * (p + m * j));
      Butterfly<radix>::run(v);
      y.put(q + s * radix * p, v[0]);
#pragma GCC unroll 8
      for (int k = 1; k < radix; ++k)
        y.put(q + s * (radix * p + k), times(v[k], set(turns[2 * k - 2]), set(turns[2 * k - 1])));
    }
  }
}
template <class In, class Out>
void run_radix(int radix, const Pass& pass, const In& x, const Out& y) {
  switch (radix) {
    case 2:
      return run_pass<2>(pass, x, y);
    case 3:
      return run_pass<3>(pass, x, y);
    case 4:
      return run_pass<4>(pass, x, y);
    case 5:
      return run_pass<5>(pass, x, y);
    case 7:
      return run_pass<7>(pass, x, y);
    default:
      return run_pass<8>(pass, x, y);
  }
}

// ---- Lines that do not lie side by side ----

void gather_rows(const FftLines& f, const float* x, Planes to) {
  const int64_t row = 2 * f.x_line, whole = f.length->length / kHalf * kHalf;
  for (int64_t i = 0; i < whole; i += kHalf) {
    C v[kHalf];
    load_rows(x + 2 * i, row, v);
#pragma GCC unroll 8
    for (int64_t k = 0; k < kHalf; ++k) to.put(i + k, f.swaps_in ? C{v[k].im, v[k].re} : v[k]);
  }
  for (int64_t i = whole; i < f.length->length; ++i)
    for (int64_t l = 0; l < kLanes; ++l)
      for (int64_t part = 0; part < 2; ++part)
        to.data[(2 * i + (f.swaps_in ? 1 - part : part)) * kLanes + l] = x[l * row + 2 * i + part];
}
void scatter_rows(const FftLines& f, Planes from, float* y) {
  const int64_t row = 2 * f.y_line, whole = f.length->length / kHalf * kHalf;
  const F scale = set(f.scale);
  for (int64_t i = 0; i < whole; i += kHalf) {
    C v[kHalf];
#pragma GCC unroll 8
    for (int64_t k = 0; k < kHalf; ++k) {
      const C from_k = from.get(i + k), scaled = {from_k.re * scale, from_k.im * scale};
      v[k] = f.swaps_out ? C{scaled.im, scaled.re} : scaled;
    }
    store_rows(v, y + 2 * i, row);
  }
  for (int64_t i = whole; i < f.length->length; ++i)
    for (int64_t l = 0; l < kLanes; ++l)
      for (int64_t part = 0; part < 2; ++part)
        y[l * row + 2 * i + part] =
            from.data[(2 * i + (f.swaps_out ? 1 - part : part)) * kLanes + l] * f.scale;
}
// Any steps, and fewer lines than lanes.
void gather_any(const FftLines& f, const float* x, int64_t lines, Planes to) {
  for (int64_t i = 0; i < f.length->length; ++i)
    for (int64_t part = 0; part < 2; ++part) {
      float* at = to.data + (2 * i + (f.swaps_in ? 1 - part : part)) * kLanes;
      for (int64_t l = 0; l < lines; ++l) at[l] = x[2 * (l * f.x_line + i * f.x_step) + part];
      for (int64_t l = lines; l < kLanes; ++l) at[l] = 0;
    }
}
void scatter_any(const FftLines& f, Planes from, int64_t lines, const float* between, float* y) {
  for (int64_t i = 0; i < f.length->length; ++i) {
    if (between) {
      const float* turn = between + i * 2 * kLanes;
      from.put(i, times(from.get(i), load(turn), load(turn + kLanes)));
    }
    for (int64_t part = 0; part < 2; ++part) {
      const float* at = from.data + (2 * i + (f.swaps_out ? 1 - part : part)) * kLanes;
      for (int64_t l = 0; l < lines; ++l)
        y[2 * (l * f.y_line + i * f.y_step) + part] = at[l] * f.scale;
    }
  }
}

void run_group(const FftLines& f, int64_t line, int64_t lines, float* scratch) {
  const FftLength& length = *f.length;
  const float* x = f.x + 2 * line * f.x_line;
  float* y = f.y + 2 * line * f.y_line;
  const float* between = f.between ? f.between + line * length.length * 2 : nullptr;
  Planes from{scratch}, to{scratch + 2 * length.length * kLanes};
  const bool whole = lines == kLanes, reads = whole && f.x_line == 1,
             writes = whole && f.y_line == 1;
  const size_t last = length.radices.size() - 1;  // of none: more than any
  if (!reads || length.radices.empty()) {
    if (whole && f.x_step == 1)
      gather_rows(f, x, from);
    else
      gather_any(f, x, lines, from);
  }
  const Source source{x, 2 * f.x_step, f.swaps_in};
  const Sink sink{y, 2 * f.y_step, f.swaps_out, f.scale, between};
  Pass pass{1, length.length, length.turns.data()};
  for (size_t i = 0; i < length.radices.size(); ++i) {
    const int radix = length.radices[i];
    pass.m /= radix;
    const bool reads_now = reads && i == 0, writes_now = writes && i == last;
    if (reads_now && writes_now)
      run_radix(radix, pass, source, sink);
    else if (reads_now)
      run_radix(radix, pass, source, to);
    else if (writes_now)
      run_radix(radix, pass, from, sink);
    else
      run_radix(radix, pass, from, to);
    pass.turns += pass.m * 2 * (radix - 1);
    pass.s *= radix;
    std::swap(from, to);
  }
  if (writes && !length.radices.empty()) return;
  if (whole && f.y_step == 1 && !between)
    scatter_rows(f, from, y);
  else
    scatter_any(f, from, lines, between, y);
}

void run_lines(const FftLines& f, Range range, float* scratch) {
  for (int64_t line = range.begin; line < range.end; line += kLanes)
    run_group(f, line, std::min(kLanes, range.end - line), scratch);
}

// With s and d the sum and difference of number k and the conjugate of h - k, the results are
// s + t d and conj(s - t d), where t is -i times the turn, or the conjugate of that.
void half_spectrum(const float* x, const float* turns, int64_t h, bool inverse, float* y) {
  const float sign = inverse ? 1.0F : -1.0F;
  int64_t k = 1;
#if defined(RLX_HIGHWAY) && HWY_TARGET != HWY_SCALAR
  constexpr int64_t kNumbers = kLanes / 2;
  constexpr hn::ScalableTag<uint64_t> numbers;
  const auto backwards = [&](F v) {
    return hn::BitCast(kFloats, hn::Reverse(numbers, hn::BitCast(numbers, v)));
  };
  float alternating[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) alternating[i] = i % 2 ? -1.0F : 1.0F;
  const F conjugate = load(alternating), turned = conjugate * set(-sign);
  for (; 2 * (k + kNumbers - 1) < h; k += kNumbers) {
    const int64_t mirrored = 2 * (h - k - kNumbers + 1);
    const F a = load(x + 2 * k), b = backwards(load(x + mirrored)) * conjugate;
    const F s = a + b, d = a - b, turn = load(turns + 2 * k);
    // (t d) has the parts t_r d_r - t_i d_i and t_r d_i + t_i d_r, with t = (sine, sign cosine).
    const F across = hn::DupEven(turn) * hn::Reverse2(kFloats, d) * turned;
    const F product = mul_add(hn::DupOdd(turn), d, across);
    store(s + product, y + 2 * k);
    store(backwards((s - product) * conjugate), y + mirrored);
  }
#endif
  for (; 2 * k <= h; ++k) {
    const float *a = x + 2 * k, *b = x + 2 * (h - k);
    const float s_real = a[0] + b[0], s_imag = a[1] - b[1], d_real = a[0] - b[0],
                d_imag = a[1] + b[1];
    const float t_real = turns[2 * k + 1], t_imag = sign * turns[2 * k];
    const float real = t_real * d_real - t_imag * d_imag, imag = t_real * d_imag + t_imag * d_real;
    float *to = y + 2 * k, *mirrored = y + 2 * (h - k);
    to[0] = s_real + real;
    to[1] = s_imag + imag;
    mirrored[0] = s_real - real;
    mirrored[1] = imag - s_imag;
  }
}

FftFunctions make() { return {.lanes = kLanes, .lines = run_lines, .half = half_spectrum}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
FftFunctions fft(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
