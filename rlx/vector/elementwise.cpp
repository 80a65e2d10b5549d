#include "rlx/vector/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/elementwise.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

template <F (*f)(F)>
void each(const float* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(f(load(x + i)), y + i);
  if (i < count) store_part(f(load_part(x + i, count - i)), y + i, count - i);
}

// Where an angle of a block is too large for the vectors, the block is computed one by one.
template <F (*f)(F), double (*exact)(double)>
void each_angle(const float* x, float* y, int64_t count) {
  constexpr int64_t kBlock = 16 * kLanes;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t end = i + kBlock < count ? i + kBlock : count;
    bool large = false;
    for (int64_t k = i; k < end; ++k) large |= !(x[k] <= kLargestAngle && x[k] >= -kLargestAngle);
    if (!large) {
      each<f>(x + i, y + i, end - i);
      continue;
    }
    for (int64_t k = i; k < end; ++k) y[k] = static_cast<float>(exact(static_cast<double>(x[k])));
  }
}

HWY_INLINE F relu(F x) { return max(set(0.0f), x); }  // NaN stays
HWY_INLINE F square(F x) { return x * x; }
HWY_INLINE F neg(F x) { return x * set(-1.0f); }
HWY_INLINE F magnitude(F x) { return abs(x); }
HWY_INLINE F reciprocal(F x) { return set(1.0f) / x; }
HWY_INLINE F hard_swish(F x) {
  const F gate = mul_add(x, set(1.0f / 6.0f), set(0.5f));
  return x * min(set(1.0f), max(set(0.0f), gate));
}

HWY_INLINE F add(F a, F b) { return a + b; }
HWY_INLINE F sub(F a, F b) { return a - b; }
HWY_INLINE F mul(F a, F b) { return a * b; }
HWY_INLINE F div(F a, F b) { return a / b; }
HWY_INLINE F higher(F a, F b) { return select(equal(a, a), max(a, b), a); }
HWY_INLINE F lower(F a, F b) { return select(equal(a, a), min(a, b), a); }
HWY_INLINE F truth(M holds) { return select(holds, set(1.0f), set(0.0f)); }
HWY_INLINE F is_less(F a, F b) { return truth(less(a, b)); }
HWY_INLINE F is_equal(F a, F b) { return truth(equal(a, b)); }
HWY_INLINE F is_at_most(F a, F b) { return select(less(a, b), set(1.0f), is_equal(a, b)); }
HWY_INLINE F is_other(F a, F b) { return select(equal(a, b), set(0.0f), set(1.0f)); }

// Vectors of one operand: along memory, one element again and again, or gathered.
struct Operand {
  const float* data;
  int64_t step;
  F same;
  Operand(const float* from, int64_t by) : data(from), step(by), same(set(*from)) {}
  HWY_INLINE F at(int64_t i, int64_t count) const {
    if (step == 0) return same;
    if (step == 1) return load_some(data + i, count);
    alignas(64) float lanes[kLanes] = {};
    for (int64_t k = 0; k < (count < kLanes ? count : kLanes); ++k) lanes[k] = data[(i + k) * step];
    return load(lanes);
  }
};
template <F (*f)(F, F)>
void combine_with(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                  int64_t count) {
  if (count <= 0) return;
  const Operand left(a, a_step), right(b, b_step);
  int64_t i = 0;
  if (a_step == 1 && b_step == 1)
    for (; i + kLanes <= count; i += kLanes) store(f(load(a + i), load(b + i)), y + i);
  else if (a_step == 1 && b_step == 0)
    for (; i + kLanes <= count; i += kLanes) store(f(load(a + i), right.same), y + i);
  else if (a_step == 0 && b_step == 1)
    for (; i + kLanes <= count; i += kLanes) store(f(left.same, load(b + i)), y + i);
  for (; i < count; i += kLanes)
    store_some(f(left.at(i, count - i), right.at(i, count - i)), y + i, count - i);
}
void combine(Binary how, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
             int64_t count) {
  switch (how) {
    case Binary::add:
      return combine_with<add>(a, a_step, b, b_step, y, count);
    case Binary::sub:
      return combine_with<sub>(a, a_step, b, b_step, y, count);
    case Binary::mul:
      return combine_with<mul>(a, a_step, b, b_step, y, count);
    case Binary::div:
      return combine_with<div>(a, a_step, b, b_step, y, count);
    case Binary::max:
      return combine_with<higher>(a, a_step, b, b_step, y, count);
    case Binary::min:
      return combine_with<lower>(a, a_step, b, b_step, y, count);
    case Binary::lt:
      return combine_with<is_less>(a, a_step, b, b_step, y, count);
    case Binary::le:
      return combine_with<is_at_most>(a, a_step, b, b_step, y, count);
    case Binary::gt:
      return combine_with<is_less>(b, b_step, a, a_step, y, count);
    case Binary::ge:
      return combine_with<is_at_most>(b, b_step, a, a_step, y, count);
    case Binary::eq:
      return combine_with<is_equal>(a, a_step, b, b_step, y, count);
    case Binary::ne:
      return combine_with<is_other>(a, a_step, b, b_step, y, count);
  }
}
void choose(const float* c, int64_t c_step, const float* a, int64_t a_step, const float* b,
            int64_t b_step, float* y, int64_t count) {
  if (count <= 0) return;
  const Operand by(c, c_step), yes(a, a_step), no(b, b_step);
  const F zero = set(0.0f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t left = count - i;
    store_some(select(equal(by.at(i, left), zero), no.at(i, left), yes.at(i, left)), y + i, left);
  }
}
void clamp(const float* x, float low, float high, float* y, int64_t count) {
  const F least = set(low), most = set(high);
  for (int64_t i = 0; i < count; i += kLanes)
    store_some(min(most, max(least, load_some(x + i, count - i))), y + i, count - i);
}

HWY_INLINE F unit(F x) { return min(set(1.0f), max(set(0.0f), x)); }
void hard_sigmoid(const float* x, float a, float b, float* y, int64_t count) {
  const F slope = set(a), start = set(b);
  for (int64_t i = 0; i < count; i += kLanes)
    store_some(unit(mul_add(slope, load_some(x + i, count - i), start)), y + i, count - i);
}
void leaky_relu(const float* x, float a, float /*b*/, float* y, int64_t count) {
  const F slope = set(a), zero = set(0.0f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const F v = load_some(x + i, count - i);
    store_some(select(less(v, zero), slope * v, v), y + i, count - i);
  }
}

// y where x is not above 0.
HWY_INLINE F at_most_zero(F x, F y) { return select(less(set(0.0f), x), x, y); }
void selu(const float* x, float a, float b, float* y, int64_t count) {
  const F slope = set(a), scale = set(b);
  for (int64_t i = 0; i < count; i += kLanes) {
    const F v = load_some(x + i, count - i);
    store_some(scale * at_most_zero(v, slope * expm1(v)), y + i, count - i);
  }
}
void elu(const float* x, float a, float /*b*/, float* y, int64_t count) { selu(x, a, 1, y, count); }
void celu(const float* x, float a, float /*b*/, float* y, int64_t count) {
  const F slope = set(a);
  for (int64_t i = 0; i < count; i += kLanes) {
    const F v = load_some(x + i, count - i);
    store_some(at_most_zero(v, slope * expm1(v / slope)), y + i, count - i);
  }
}

template <class From, class To>
void convert(const From* x, To* y, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes)
    store_some(load_some(x + i, count - i), y + i, count - i);
}
void widen(Element from, const void* x, float* y, int64_t count) {
  if (from == Element::f32) return convert(static_cast<const float*>(x), y, count);
  if (from == Element::f16) return convert(static_cast<const Float16*>(x), y, count);
  convert(static_cast<const BFloat16*>(x), y, count);
}
void narrow(const float* x, Element to, void* y, int64_t count) {
  if (to == Element::f32) return convert(x, static_cast<float*>(y), count);
  if (to == Element::f16) return convert(x, static_cast<Float16*>(y), count);
  convert(x, static_cast<BFloat16*>(y), count);
}

Elementwise make() {
  return {.exp = each<exp>,
          .log = each<log>,
          .sin = each_angle<sin, std::sin>,
          .cos = each_angle<cos, std::cos>,
          .tanh = each<tanh>,
          .sigmoid = each<sigmoid>,
          .silu = each<silu>,
          .erf = each<erf>,
          .gelu = each<gelu>,
          .gelu_quick = each<gelu_quick>,
          .gelu_tanh = each<gelu_tanh>,
          .relu = each<relu>,
          .hard_swish = each<hard_swish>,
          .neg = each<neg>,
          .abs = each<magnitude>,
          .reciprocal = each<reciprocal>,
          .square = each<square>,
          .sqrt = each<sqrt>,
          .rsqrt = each<rsqrt>,
          .expm1 = each<expm1>,
          .log1p = each<log1p>,
          .softplus = each<softplus>,
          .mish = each<mish>,
          .softsign = each<softsign>,
          .floor = each<floor>,
          .ceil = each<ceil>,
          .round = each<round>,
          .sign = each<sign>,
          .combine = combine,
          .choose = choose,
          .clamp = clamp,
          .hard_sigmoid = hard_sigmoid,
          .leaky_relu = leaky_relu,
          .elu = elu,
          .selu = selu,
          .celu = celu,
          .widen = widen,
          .narrow = narrow};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Elementwise elementwise(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
