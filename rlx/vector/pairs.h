// Complex numbers as a vector of real and one of imaginary parts, from and to memory where the two
// parts lie side by side. Included once per instruction set.
#if defined(RLX_VECTOR_PAIRS) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_PAIRS
#undef RLX_VECTOR_PAIRS
#else
#define RLX_VECTOR_PAIRS
#endif

#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

struct C {
  F re, im;
};

#if defined(RLX_HIGHWAY) && HWY_TARGET == HWY_SCALAR
constexpr int64_t kHalf = 1;
HWY_INLINE C load_pairs(const float* from) { return {load(from), load(from + 1)}; }
HWY_INLINE void store_pairs(C v, float* to) {
  store(v.re, to);
  store(v.im, to + 1);
}
HWY_INLINE void load_rows(const float* from, int64_t /*row*/, C* v) { *v = load_pairs(from); }
HWY_INLINE void store_rows(const C* v, float* to, int64_t /*row*/) { store_pairs(*v, to); }
#else
constexpr int64_t kHalf = kLanes / 2;

using Floats = float __attribute__((vector_size(4 * kLanes)));
using Doubles = double __attribute__((vector_size(4 * kLanes)));  // complex numbers, to be moved

template <class To, class From>
HWY_INLINE To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <int64_t lanes>
struct Shuffle;
template <>
struct Shuffle<4> {
  template <class V>
  static HWY_INLINE V even(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
  }
  template <class V>
  static HWY_INLINE V odd(V a, V b) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
  }
  template <class V>
  static HWY_INLINE V lower(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  }
  template <class V>
  static HWY_INLINE V upper(V a, V b) {
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  }
};
template <>
struct Shuffle<2> {
  template <class V>
  static HWY_INLINE V lower(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 2);
  }
  template <class V>
  static HWY_INLINE V upper(V a, V b) {
    return __builtin_shufflevector(a, b, 1, 3);
  }
};
template <>
struct Shuffle<8> {
  template <class V>
  static HWY_INLINE V even(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  }
  template <class V>
  static HWY_INLINE V odd(V a, V b) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  }
  template <class V>
  static HWY_INLINE V lower(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  template <class V>
  static HWY_INLINE V upper(V a, V b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
};
template <>
struct Shuffle<16> {
  template <class V>
  static HWY_INLINE V even(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  }
  template <class V>
  static HWY_INLINE V odd(V a, V b) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
  template <class V>
  static HWY_INLINE V lower(V a, V b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
  template <class V>
  static HWY_INLINE V upper(V a, V b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  }
};

HWY_INLINE C apart(Floats a, Floats b) {
  return {as<F>(Shuffle<kLanes>::even(a, b)), as<F>(Shuffle<kLanes>::odd(a, b))};
}
HWY_INLINE void together(C v, Floats& a, Floats& b) {
  const Floats re = as<Floats>(v.re), im = as<Floats>(v.im);
  a = Shuffle<kLanes>::lower(re, im);
  b = Shuffle<kLanes>::upper(re, im);
}
// kHalf vectors of kHalf complex numbers: rows become columns.
HWY_INLINE void transpose(Doubles* v) {
  Doubles w[kHalf];
  for (int64_t round = 1; round < kHalf; round *= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kHalf / 2; ++i) {
      w[2 * i] = Shuffle<kHalf>::lower(v[i], v[i + kHalf / 2]);
      w[2 * i + 1] = Shuffle<kHalf>::upper(v[i], v[i + kHalf / 2]);
    }
#pragma GCC unroll 8
    for (int64_t i = 0; i < kHalf; ++i) v[i] = w[i];
  }
}

// kLanes numbers side by side.
HWY_INLINE C load_pairs(const float* from) {
  return apart(as<Floats>(load(from)), as<Floats>(load(from + kLanes)));
}
HWY_INLINE void store_pairs(C v, float* to) {
  Floats a, b;
  together(v, a, b);
  store(as<F>(a), to);
  store(as<F>(b), to + kLanes);
}
// kLanes rows of kHalf numbers each, `row` floats apart: v[i] is element i of all.
HWY_INLINE void load_rows(const float* from, int64_t row, C* v) {
  Doubles low[kHalf], high[kHalf];
#pragma GCC unroll 8
  for (int64_t l = 0; l < kHalf; ++l) {
    low[l] = as<Doubles>(load(from + l * row));
    high[l] = as<Doubles>(load(from + (l + kHalf) * row));
  }
  transpose(low);
  transpose(high);
#pragma GCC unroll 8
  for (int64_t k = 0; k < kHalf; ++k) v[k] = apart(as<Floats>(low[k]), as<Floats>(high[k]));
}
HWY_INLINE void store_rows(const C* v, float* to, int64_t row) {
  Doubles low[kHalf], high[kHalf];
#pragma GCC unroll 8
  for (int64_t k = 0; k < kHalf; ++k) {
    Floats a, b;
    together(v[k], a, b);
    low[k] = as<Doubles>(a);
    high[k] = as<Doubles>(b);
  }
  transpose(low);
  transpose(high);
#pragma GCC unroll 8
  for (int64_t l = 0; l < kHalf; ++l) {
    store(as<F>(low[l]), to + l * row);
    store(as<F>(high[l]), to + (l + kHalf) * row);
  }
}
#endif

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
