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
          .gelu_tanh = each<gelu_tanh>,
          .relu = each<relu>,
          .square = each<square>,
          .sqrt = each<sqrt>,
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
