#include "rlx/vector/planes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/planes.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

void scale(const float* x, float minus, float times, float plus, float* y, int64_t count) {
  const F off = set(minus), by = set(times), on = set(plus);
  for (int64_t i = 0; i < count; i += kLanes)
    store_some(mul_add(load_some(x + i, count - i) - off, by, on), y + i, count - i);
}

void mix(const float* const* rows, const float* weights, int64_t taps, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    F sum = set(0.0f);
    for (int64_t k = 0; k < taps; ++k)
      sum = mul_add(set(weights[k]), load_some(rows[k] + i, count - i), sum);
    store_some(sum, y + i, count - i);
  }
}

HWY_INLINE F gathered(const float* row, const int32_t* places) {
#if defined(RLX_HIGHWAY)
  return hn::GatherIndex(kFloats, row, load_integers(places));
#else
  return F{row[places[0]], row[places[1]], row[places[2]], row[places[3]]};
#endif
}
void take(const float* row, const int32_t* places, const float* weights, int64_t taps, float* y,
          int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    F sum = set(0.0f);
    for (int64_t k = 0; k < taps; ++k)
      sum = mul_add(load(weights + k * count + i), gathered(row, places + k * count + i), sum);
    store(sum, y + i);
  }
  for (; i < count; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += weights[k * count + i] * row[places[k * count + i]];
    y[i] = sum;
  }
}

void repeat(const float* x, int64_t times, float* y, int64_t count) {
  int64_t i = 0;
#if defined(RLX_HIGHWAY) && HWY_TARGET != HWY_SCALAR
  if (times == 2)
    for (; i + kLanes <= count; i += kLanes) {
      const F v = load(x + i);
      hn::StoreInterleaved2(v, v, kFloats, y + 2 * i);
    }
  if (times == 4)
    for (; i + kLanes <= count; i += kLanes) {
      const F v = load(x + i);
      hn::StoreInterleaved4(v, v, v, v, kFloats, y + 4 * i);
    }
#endif
  for (; i < count; ++i)
    for (int64_t k = 0; k < times; ++k) y[times * i + k] = x[i];
}

Planes make() { return {.scale = scale, .mix = mix, .take = take, .repeat = repeat}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Planes planes(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
