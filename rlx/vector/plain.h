// What simd.h takes from Highway, for builds without it: vectors of four in the compiler's own
// form, which becomes vector code where the compiler's flags allow any.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define HWY_NAMESPACE N_PLAIN
#define HWY_BEFORE_NAMESPACE() static_assert(true, "")
#define HWY_AFTER_NAMESPACE() static_assert(true, "")
#define HWY_ONCE 1
#define HWY_INLINE inline __attribute__((always_inline))
#define HWY_NOINLINE __attribute__((noinline))
#define HWY_ATTR

namespace rlx::vector::N_PLAIN {

constexpr int64_t kLanes = 4;
constexpr int kRegisters = 16;

using F = float __attribute__((vector_size(16)));
using I = int32_t __attribute__((vector_size(16)));
using M = I;  // all bits or none

HWY_INLINE F load(const float* from) {
  F x;
  std::memcpy(&x, from, sizeof(x));
  return x;
}
HWY_INLINE void store(F x, float* to) { std::memcpy(to, &x, sizeof(x)); }
HWY_INLINE F set(float x) { return F{x, x, x, x}; }
HWY_INLINE I set_int(int32_t x) { return I{x, x, x, x}; }

HWY_INLINE I bits(F x) { return reinterpret_cast<I>(x); }
HWY_INLINE F floats(I x) { return reinterpret_cast<F>(x); }
HWY_INLINE I and_(I a, I b) { return a & b; }
HWY_INLINE I or_(I a, I b) { return a | b; }
template <int n>
HWY_INLINE I shift_left(I x) {
  using U = uint32_t __attribute__((vector_size(16)));
  return reinterpret_cast<I>(reinterpret_cast<U>(x) << n);
}
template <int n>
HWY_INLINE I shift_right(I x) {
  return x >> n;
}
HWY_INLINE F to_float(I x) { return __builtin_convertvector(x, F); }

HWY_INLINE M less(F a, F b) { return a < b; }
HWY_INLINE M equal(F a, F b) { return a == b; }
HWY_INLINE M is_not_zero(I x) { return x != set_int(0); }
HWY_INLINE F select(M which, F yes, F no) {
  return floats((bits(yes) & which) | (bits(no) & ~which));
}
HWY_INLINE M first(int64_t count) { return I{0, 1, 2, 3} < set_int(static_cast<int32_t>(count)); }
HWY_INLINE bool any(M which) { return (which[0] | which[1] | which[2] | which[3]) != 0; }

HWY_INLINE F mul_add(F a, F b, F c) { return a * b + c; }
HWY_INLINE F neg_mul_add(F a, F b, F c) { return c - a * b; }
HWY_INLINE F sqrt(F x) {
  return F{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])};
}
HWY_INLINE F abs(F x) { return floats(bits(x) & set_int(0x7fffffff)); }
HWY_INLINE F max(F a, F b) { return select(a > b, a, b); }
HWY_INLINE F min(F a, F b) { return select(a < b, a, b); }

HWY_INLINE I load_words(const uint16_t* from) { return I{from[0], from[1], from[2], from[3]}; }
HWY_INLINE void store_words(I x, uint16_t* to) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<uint16_t>(x[i]);
}

template <class T>
HWY_INLINE I load_integers(const T* from) {
  return I{static_cast<int32_t>(from[0]), static_cast<int32_t>(from[1]),
           static_cast<int32_t>(from[2]), static_cast<int32_t>(from[3])};
}
HWY_INLINE void store_integers(I x, int32_t* to) { std::memcpy(to, &x, sizeof(x)); }
template <class T>
HWY_INLINE void store_integers(I x, T* to) {
  constexpr int32_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (int i = 0; i < 4; ++i) to[i] = static_cast<T>(x[i] < low ? low : x[i] > high ? high : x[i]);
}
HWY_INLINE I multiply(I a, I b) { return a * b; }

HWY_INLINE void transpose4(const float* from, int64_t from_row, float* to, int64_t to_row) {
  const F a = load(from), b = load(from + from_row), c = load(from + 2 * from_row),
          d = load(from + 3 * from_row);
  for (int i = 0; i < 4; ++i) store(F{a[i], b[i], c[i], d[i]}, to + i * to_row);
}

HWY_INLINE float sum(F x) { return (x[0] + x[1]) + (x[2] + x[3]); }
HWY_INLINE float largest(F x) {
  const F other = max(x, F{x[1], x[0], x[3], x[2]});
  return other[0] > other[2] ? other[0] : other[2];
}
HWY_INLINE float smallest(F x) {
  const F other = min(x, F{x[1], x[0], x[3], x[2]});
  return other[0] < other[2] ? other[0] : other[2];
}

}  // namespace rlx::vector::N_PLAIN
