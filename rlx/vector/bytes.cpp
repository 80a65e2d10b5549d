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
  const F far = set(1e6f);  // beyond every integer here, and near enough to be rounded
  for (int64_t i = 0; i < count; i += kLanes) {
    F steps = load_some(x + i, count - i, set(0.0f)) / scale.at(i, count - i);
    steps = select(equal(steps, steps), steps, set(0.0f));
    steps = rounded(min(far, max(set(0.0f) - far, steps))).value + zero.at(i, count - i);
    store_at(rounded(min(high, max(low, steps))).integer, y + i, count - i);
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
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t here = std::min(count - i, kLanes);
    I steps = integers_at(x + i, here);
    if (zeros) {
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

float dot(const float* x, const int8_t* w, const float* scales, int64_t block, int64_t count) {
  F total[2] = {set(0.0f), set(0.0f)};
  for (int64_t first = 0; first < count; first += block) {
    const int64_t end = std::min(first + block, count);
    F sums[2] = {set(0.0f), set(0.0f)};
    int64_t i = first;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes)
      for (int v = 0; v < 2; ++v)
        sums[v] =
            mul_add(load(x + i + v * kLanes), to_float(load_integers(w + i + v * kLanes)), sums[v]);
    for (; i < end; i += kLanes)
      sums[0] = mul_add(load_some(x + i, end - i), to_float(integers_at(w + i, end - i)), sums[0]);
    const F scale = set(scales[first / block]);
    for (int v = 0; v < 2; ++v) total[v] = mul_add(sums[v], scale, total[v]);
  }
  return sum(total[0] + total[1]);
}

Bytes make() { return {.quantise = quantise, .dequantise = dequantise, .dot = dot}; }

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Bytes bytes(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
