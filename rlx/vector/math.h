// Functions of vectors of f32. Their errors are measured by elementwise_test.
#if defined(RLX_VECTOR_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef RLX_VECTOR_MATH
#undef RLX_VECTOR_MATH
#else
#define RLX_VECTOR_MATH
#endif

#include <cmath>
#include <limits>

#include "rlx/vector/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

// c[0] + c[1] x + ..
template <size_t count>
HWY_INLINE F polynomial(F x, const float (&c)[count]) {
  F y = set(c[count - 1]);
  for (size_t i = count - 1; i-- > 0;) y = mul_add(y, x, set(c[i]));
  return y;
}

// To the nearest integer, also as one. Adding this number leaves no bits behind the point.
struct Rounded {
  F value;
  I integer;
};
HWY_INLINE Rounded rounded(F x) {
  const F shift = set(12582912.0f);  // 1.5 * 2^23
  const F shifted = x + shift;
  return {shifted - shift, bits(shifted) - bits(shift)};
}
// 2^n, -126 <= n <= 127.
HWY_INLINE F power_of_two(I n) { return floats(shift_left<23>(n + set_int(127))); }

// e^r = 1 + r + r^2 .. of a small r, as 2^n * e^r: below 2 ulp.
HWY_INLINE F exp(F x) {
  x = min(set(89.0f), max(set(-104.0f), x));  // beyond: infinity and 0; NaN stays
  const Rounded n = rounded(x * set(1.44269504f));
  F r = neg_mul_add(n.value, set(0.693359375f), x);
  r = neg_mul_add(n.value, set(-2.12194440e-4f), r);
  const F tail = polynomial(r, {0.49999999f, 0.166666657f, 4.16664854e-2f, 8.3334519e-3f,
                                1.38888889e-3f, 1.98412698e-4f});
  const F y = mul_add(r * r, tail, r) + set(1.0f);
  const I half = shift_right<1>(n.integer);  // in two steps, for numbers below the normal ones
  return y * power_of_two(half) * power_of_two(n.integer - half);
}

// Of an x <= 0 that may be any: for softmax, where what is below the normal numbers is 0.
HWY_INLINE F exp_below_zero(F x) {
  x = max(set(-87.33f), x);
  const Rounded n = rounded(x * set(1.44269504f));
  F r = neg_mul_add(n.value, set(0.693359375f), x);
  r = neg_mul_add(n.value, set(-2.12194440e-4f), r);
  const F tail =
      polynomial(r, {0.49999999f, 0.166666657f, 4.16664854e-2f, 8.3334519e-3f, 1.38888889e-3f});
  const F y = mul_add(r * r, tail, r) + set(1.0f);
  return select(less(set(-87.33f), x), y * power_of_two(n.integer),
                select(equal(x, x), set(0.0f), x));
}

HWY_INLINE F log(F x) {
  const M small = less(x, set(1.17549435e-38f));
  const F scaled = select(small, x * set(8388608.0f), x);
  // x = 2^e * m with m in sqrt(1/2) .. sqrt(2)
  const I e = shift_right<23>(bits(scaled) - set_int(0x3f3504f3));
  const F m = floats(bits(scaled) - shift_left<23>(e));
  const F exponent = to_float(e) - select(small, set(23.0f), set(0.0f));
  const F f = m - set(1.0f), f2 = f * f;
  F y = polynomial(f, {3.3333331174e-1f, -2.4999993993e-1f, 2.0000714765e-1f, -1.6668057665e-1f,
                       1.4249322787e-1f, -1.2420140846e-1f, 1.1676998740e-1f, -1.1514610310e-1f,
                       7.0376836292e-2f}) *
        f * f2;
  y = mul_add(exponent, set(-2.12194440e-4f), y);
  y = neg_mul_add(f2, set(0.5f), y);
  y = mul_add(exponent, set(0.693359375f), f + y);
  y = select(less(x, set(kInfinity)), y, x);  // infinity and NaN
  y = select(equal(x, set(0.0f)), set(-kInfinity), y);
  return select(less(x, set(0.0f)), set(kNotANumber), y);
}

// e^x - 1: of a small x its series alone, so that no digits are lost.
HWY_INLINE F expm1(F x) {
  const F limit = set(64.0f), cut = min(limit, max(set(-40.0f), x));  // NaN stays
  const Rounded n = rounded(cut * set(1.44269504f));
  F r = neg_mul_add(n.value, set(0.693359375f), cut);
  r = neg_mul_add(n.value, set(-2.12194440e-4f), r);
  const F tail = polynomial(r, {0.49999999f, 0.166666657f, 4.16664854e-2f, 8.3334519e-3f,
                                1.38888889e-3f, 1.98412698e-4f});
  const F scale = power_of_two(n.integer);
  const F y = mul_add(mul_add(r * r, tail, r), scale, scale - set(1.0f));
  return select(less(limit, x), exp(x), y);
}

// log(1 + x): what the sum loses is made up for by how far it came.
HWY_INLINE F log1p(F x) {
  const F one = set(1.0f), u = x + one;
  const F y = select(equal(u, one), x, log(u) * (x / (u - one)));
  return select(less(x, set(kInfinity)), y, x);
}
HWY_INLINE F softplus(F x) { return max(set(0.0f), x) + log1p(exp(set(0.0f) - abs(x))); }

// To integers, ties to even. From 2^23 on every number is one.
HWY_INLINE F round(F x) {
  const F whole = set(8388608.0f), magnitude = abs(x);
  const F y = (magnitude + whole) - whole;
  return select(less(magnitude, whole), select(less(x, set(0.0f)), set(0.0f) - y, y), x);
}
HWY_INLINE F floor(F x) {
  const F y = round(x);
  return select(less(x, y), y - set(1.0f), y);
}
HWY_INLINE F ceil(F x) {
  const F y = round(x);
  return select(less(y, x), y + set(1.0f), y);
}

HWY_INLINE F sigmoid(F x) {
  // Of -|x|, so that nothing overflows and small results keep their digits.
  const F e = exp(set(0.0f) - abs(x));
  const F part = set(1.0f) / (set(1.0f) + e);
  return select(less(x, set(0.0f)), e * part, part);
}

// y within -limit .. limit of x; 1 or -1 beyond, which both functions below come to.
HWY_INLINE F one_beyond(F limit, F x, F y) {
  const F one = select(less(x, set(0.0f)), set(-1.0f), set(1.0f));
  return select(less(limit, abs(x)), one, y);
}

// Rational functions of x, odd.
HWY_INLINE F tanh(F x) {
  const F limit = set(7.90531110763549805f), cut = min(limit, max(set(0.0f) - limit, x));
  const F s = cut * cut;
  const F above =
      polynomial(s, {4.89352455891786e-03f, 6.37261928875436e-04f, 1.48572235717979e-05f,
                     5.12229709037114e-08f, -8.60467152213735e-11f, 2.00018790482477e-13f,
                     -2.76076847742355e-16f});
  const F below = polynomial(s, {4.89352518554385e-03f, 2.26843463243900e-03f,
                                 1.18534705686654e-04f, 1.19825839466702e-06f});
  return one_beyond(limit, x, select(less(abs(x), set(0.0004f)), x, cut * above / below));
}

HWY_INLINE F erf(F x) {
  const F limit = set(3.832506856900711f), cut = min(limit, max(set(0.0f) - limit, x));
  const F s = cut * cut;
  const F above =
      polynomial(s, {-1.60960333262415e-02f, -2.95459980854025e-03f, -7.34990630326855e-04f,
                     -5.69250639462346e-05f, -2.10102402082508e-06f, 2.77068142495902e-08f,
                     -2.72614225801306e-10f});
  const F below =
      polynomial(s, {-1.42647390514189e-02f, -7.37332916720468e-03f, -1.68282697438203e-03f,
                     -2.13374055278905e-04f, -1.45660718464996e-05f});
  return one_beyond(limit, x, cut * above / below);
}

// By an absolute error: below 0 it has fewer digits the smaller it is.
HWY_INLINE F gelu_quick(F x) {
  const F half = x * set(0.5f);
  return mul_add(half, erf(x * set(0.707106781f)), half);
}

// x/2 erfc(-x / sqrt(2)), also where it is tiny. erfc(z) = t exp(p(t) - z^2), t = 1 / (1 + z / 2),
// of z >= 0. The square is taken in two parts, the first of which is exact, and what the sum of the
// exponent loses is made up for: an exponent of 80 has no digits to spare.
HWY_INLINE F gelu(F x) {
  const F magnitude = min(set(40.0f), abs(x));
  const F t = set(1.0f) / mul_add(magnitude, set(0.353553391f), set(1.0f));
  const F p = polynomial(t, {-1.26551223f, 1.00002368f, 0.37409196f, 0.09678418f, -0.18628806f,
                             0.27886807f, -1.13520398f, 1.48851587f, -0.82215223f, 0.17087277f});
  const F high = floats(and_(bits(magnitude), set_int(~0xfff)));
  const F square = high * high * set(0.5f);
  const F other = neg_mul_add((magnitude - high) * set(0.5f), magnitude + high, p);
  const F exponent = other - square, lost = other - (exponent + square);
  const F e = exp(exponent);
  const F above = set(0.5f) * t * mul_add(e, lost, e);  // the share of the tail
  return select(less(x, set(0.0f)), x * above, neg_mul_add(magnitude, above, x));
}
HWY_INLINE F gelu_tanh(F x) {
  return x * sigmoid(mul_add(x * x * x, set(0.044715f), x) * set(1.59576912f));
}
HWY_INLINE F silu(F x) { return x * sigmoid(x); }
HWY_INLINE F mish(F x) { return x * tanh(softplus(x)); }
HWY_INLINE F softsign(F x) { return x / (set(1.0f) + abs(x)); }
HWY_INLINE F rsqrt(F x) { return set(1.0f) / sqrt(x); }
HWY_INLINE F sign(F x) {
  const F zero = set(0.0f);
  return select(less(zero, x), set(1.0f), select(less(x, zero), set(-1.0f), x));
}

// Angles beyond kLargestAngle lose their digits here; who asks for them computes in double.
constexpr float kLargestAngle = 8192;
HWY_INLINE F sin_of_quarters(F x, int32_t quarters) {
  const Rounded n = rounded(x * set(0.636619772f));
  F r = neg_mul_add(n.value, set(1.5703125f), x);
  r = neg_mul_add(n.value, set(4.837512969970703125e-4f), r);
  r = neg_mul_add(n.value, set(7.54978995489188e-8f), r);
  const F s = r * r;
  const F sine =
      mul_add(r * s, polynomial(s, {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f}), r);
  const F cosine = mul_add(
      s * s, polynomial(s, {4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f}),
      neg_mul_add(s, set(0.5f), set(1.0f)));
  const I turn = n.integer + set_int(quarters);
  const F y = select(is_not_zero(and_(turn, set_int(1))), cosine, sine);
  return select(is_not_zero(and_(turn, set_int(2))), set(0.0f) - y, y);
}
HWY_INLINE F sin(F x) { return select(equal(x, set(0.0f)), x, sin_of_quarters(x, 0)); }
HWY_INLINE F cos(F x) { return sin_of_quarters(x, 1); }

}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
