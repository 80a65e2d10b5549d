#include "rlx/vector/sequence.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/sequence.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kMostGradientSteps = 32;

void scan(const ScanSteps& s, float* y) {
  for (int64_t t = 0; t < s.steps; ++t) {
    const F delta = load_some(s.delta + t * s.row, s.channels);
    const F enters = delta * load_some(s.x + t * s.row, s.channels);
    const float *b = s.b + t * s.state_row, *c = s.c + t * s.state_row;
    F sum = set(0.0f);
    for (int64_t n = 0; n < s.states; ++n) {
      float* at = s.state + n * kLanes;
      const F h = mul_add(exp(delta * load(s.a + n * kLanes)), load(at), enters * set(b[n]));
      store(h, at);
      sum = mul_add(h, set(c[n]), sum);
    }
    store_some(sum, y + t * s.row, s.channels);
  }
}

// Of each state the steps forwards, then its gradient backwards. Channels that are not there have a
// delta and a dy of 0: they add nothing to the sums.
void scan_gradient(const ScanGradient& g) {
  const ScanSteps& s = g.of;
  F delta[kMostGradientSteps], x[kMostGradientSteps], dy[kMostGradientSteps],
      before[kMostGradientSteps], left[kMostGradientSteps];
  for (int64_t t = 0; t < s.steps; ++t) {
    delta[t] = load_some(s.delta + t * s.row, s.channels);
    x[t] = load_some(s.x + t * s.row, s.channels);
    dy[t] = load_some(g.dy + t * s.row, s.channels);
  }
  F dx[kMostGradientSteps], d_delta[kMostGradientSteps];
  for (int64_t t = 0; t < s.steps; ++t) dx[t] = d_delta[t] = set(0.0f);
  for (int64_t n = 0; n < s.states; ++n) {
    const F a = load(s.a + n * kLanes);
    F h = load(s.state + n * kLanes);
    for (int64_t t = 0; t < s.steps; ++t) {
      before[t] = h;
      left[t] = exp(delta[t] * a);
      h = mul_add(left[t], h, delta[t] * x[t] * set(s.b[t * s.state_row + n]));
      g.dc[t * s.state_row + n] += sum(dy[t] * h);
    }
    F of_state = load(g.d_state + n * kLanes), da = set(0.0f);
    for (int64_t t = s.steps; t-- > 0;) {
      const F b = set(s.b[t * s.state_row + n]), c = set(s.c[t * s.state_row + n]);
      of_state = mul_add(c, dy[t], of_state);
      const F of_exponent = of_state * left[t] * before[t], of_b = of_state * b;
      da = mul_add(of_exponent, delta[t], da);
      d_delta[t] = mul_add(of_exponent, a, mul_add(of_b, x[t], d_delta[t]));
      dx[t] = mul_add(of_b, delta[t], dx[t]);
      g.db[t * s.state_row + n] += sum(of_state * delta[t] * x[t]);
      of_state = of_state * left[t];
    }
    store(of_state, g.d_state + n * kLanes);
    store(da, g.da + n * kLanes);
  }
  for (int64_t t = 0; t < s.steps; ++t) {
    store_some(dx[t], g.dx + t * s.row, s.channels);
    store_some(d_delta[t], g.d_delta + t * s.row, s.channels);
  }
}

// Columns of `vectors` vectors, of which the last may be a part.
template <int vectors>
HWY_INLINE void delta_columns(const DeltaStep& s, int64_t first, int64_t columns) {
  F adds[vectors], by_key[vectors], by_query[vectors];
  const int64_t rest = columns - (vectors - 1) * kLanes;
  for (int v = 0; v < vectors; ++v) {
    adds[v] = load_some(s.adds + first + v * kLanes, columns - v * kLanes);
    by_key[v] = by_query[v] = set(0.0f);
  }
  const F decay = set(s.decay);
  for (int64_t n = 0; n < s.keys; ++n) {
    float* row = s.state + n * s.row + first;
    const F added = set(s.k_before[n]), k = set(s.k[n]), q = set(s.q[n]);
    for (int v = 0; v < vectors; ++v) {
      const int64_t count = v + 1 < vectors ? kLanes : rest;
      const F state = mul_add(added, adds[v], decay * load_some(row + v * kLanes, count));
      store_some(state, row + v * kLanes, count);
      by_key[v] = mul_add(state, k, by_key[v]);
      by_query[v] = mul_add(state, q, by_query[v]);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    store_some(by_key[v], s.by_key + first + v * kLanes, columns - v * kLanes);
    store_some(by_query[v], s.by_query + first + v * kLanes, columns - v * kLanes);
  }
}

void delta(const DeltaStep& s) {
  int64_t first = 0;
  for (; s.columns - first >= 2 * kLanes; first += 2 * kLanes)
    delta_columns<2>(s, first, 2 * kLanes);
  for (; first < s.columns; first += kLanes)
    delta_columns<1>(s, first, s.columns - first < kLanes ? s.columns - first : kLanes);
}

void scale(float by, const float* from, int64_t count, float* to) {
  const F factor = set(by);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(factor * load(from + i), to + i);
  if (i < count) store_some(factor * load_some(from + i, count - i), to + i, count - i);
}
void add(const float* start, float by, const float* from, int64_t count, float* to) {
  const F factor = set(by);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(mul_add(factor, load(from + i), load(start + i)), to + i);
  if (i < count) {
    const int64_t rest = count - i;
    store_some(mul_add(factor, load_some(from + i, rest), load_some(start + i, rest)), to + i,
               rest);
  }
}

Sequence make() {
  return {.lanes = kLanes,
          .most_gradient_steps = kMostGradientSteps,
          .scan = scan,
          .scan_gradient = scan_gradient,
          .delta = delta,
          .scale = scale,
          .add = add};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
Sequence sequence(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
