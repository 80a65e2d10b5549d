#include "rlx/vector/windows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rlx/vector/windows.cpp"
#include "rlx/vector/each_isa.h"
#include "rlx/vector/load_elements.h"
#include "rlx/vector/math.h"

HWY_BEFORE_NAMESPACE();
namespace rlx::vector::HWY_NAMESPACE {
namespace {

constexpr int64_t kStrip = 16;  // rows of the result whose rows of x are made ready together

// Rows of x with their padding, every stride-th element side by side: then each tap of a row of
// windows reads along memory.
struct Ready {
  int64_t phase = 0, row = 0;  // floats of one phase, and of all of one row
  explicit Ready(const Windows& w) {
    const int64_t reach = (w.x.window - 1) * w.x.dilation / w.x.stride;
    phase = (w.x.out + reach + 2 * kLanes) / kLanes * kLanes;
    row = phase * w.x.stride;
  }
};

int64_t strip_rows(const Windows& w) {
  return (kStrip - 1) * w.y.stride + (w.y.window - 1) * w.y.dilation + 1;
}
int64_t scratch_size(const Windows& w) { return Ready(w).row * strip_rows(w); }

void make_row(const Windows& w, const Ready& ready, const float* x, float padding, float* to) {
  for (int64_t p = 0; p < w.x.stride; ++p) {
    float* phase = to + p * ready.phase;
    // Element i of the phase is x[i * stride + p - before].
    const int64_t shift = p - w.x.before;
    const int64_t first =
        std::min(ready.phase, shift >= 0 ? 0 : (-shift + w.x.stride - 1) / w.x.stride);
    const int64_t end = std::clamp<int64_t>(
        w.x.in - shift <= 0 ? 0 : (w.x.in - shift + w.x.stride - 1) / w.x.stride, first,
        ready.phase);
    std::fill(phase, phase + first, padding);
    if (w.x.stride == 1)
      copy_elements(x + first + shift, phase + first, end - first);
    else
      for (int64_t i = first; i < end; ++i) phase[i] = x[i * w.x.stride + shift];
    std::fill(phase + end, phase + ready.phase, padding);
  }
}

struct Highest {
  static constexpr float start = -kInfinity, padding = -kInfinity;
  HWY_INLINE F tap(F total, F x, int64_t /*tap*/) const {
    return select(equal(x, x), max(x, total), x);
  }
};
struct Sum {
  static constexpr float start = 0, padding = 0;
  HWY_INLINE F tap(F total, F x, int64_t /*tap*/) const { return total + x; }
};
struct Weighted {
  static constexpr float padding = 0;
  float start;
  const float* weights;
  HWY_INLINE F tap(F total, F x, int64_t tap) const { return mul_add(x, set(weights[tap]), total); }
};

// One row of the result; `rows` are those of x under it, null where there is none.
template <class How>
HWY_INLINE void row_of(const Windows& w, const Ready& ready, const How& how,
                       const float* const* rows, float* y) {
  constexpr int kVectors = 4;
  for (int64_t at = 0; at < w.x.out; at += kVectors * kLanes) {
    F totals[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) totals[v] = set(how.start);
    const int vectors =
        static_cast<int>(std::min<int64_t>(kVectors, (w.x.out - at + kLanes - 1) / kLanes));
    for (int64_t i = 0; i < w.y.window; ++i) {
      if (!rows[i]) continue;
      for (int64_t j = 0; j < w.x.window; ++j) {
        const int64_t reach = j * w.x.dilation;
        const float* from = rows[i] + reach % w.x.stride * ready.phase + reach / w.x.stride + at;
        const int64_t tap = i * w.x.window + j;
        if (vectors == kVectors) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v)
            totals[v] = how.tap(totals[v], load(from + v * kLanes), tap);
        } else {
          for (int v = 0; v < vectors; ++v)
            totals[v] = how.tap(totals[v], load(from + v * kLanes), tap);
        }
      }
    }
    for (int v = 0; v < vectors; ++v)
      store_some(totals[v], y + at + v * kLanes, w.x.out - at - v * kLanes);
  }
}

template <class How>
void run(const Windows& w, const How& how, const float* x, float* y, Range rows, float* scratch) {
  const Ready ready(w);
  constexpr int64_t kMostRows = 64;  // of a window
  const float* under[kMostRows];
  for (int64_t strip = rows.begin; strip < rows.end; strip += kStrip) {
    const int64_t last = std::min(strip + kStrip, rows.end) - 1;
    const int64_t first_row = strip * w.y.stride - w.y.before;
    const int64_t end_row = last * w.y.stride - w.y.before + (w.y.window - 1) * w.y.dilation + 1;
    for (int64_t i = std::max<int64_t>(first_row, 0); i < std::min(end_row, w.y.in); ++i)
      make_row(w, ready, x + i * w.x.in, How::padding, scratch + (i - first_row) * ready.row);
    for (int64_t at = strip; at <= last; ++at) {
      for (int64_t i = 0; i < w.y.window; ++i) {
        const int64_t row = at * w.y.stride - w.y.before + i * w.y.dilation;
        under[i] = row >= 0 && row < w.y.in ? scratch + (row - first_row) * ready.row : nullptr;
      }
      row_of(w, ready, how, under, y + at * w.x.out);
    }
  }
}

void highest(const Windows& w, const float* x, float* y, Range rows, float* scratch) {
  run(w, Highest(), x, y, rows, scratch);
}
void sum_of(const Windows& w, const float* x, float* y, Range rows, float* scratch) {
  run(w, Sum(), x, y, rows, scratch);
}
void weighted(const Windows& w, const float* x, const float* weights, float start, float* y,
              Range rows, float* scratch) {
  run(w, Weighted{start, weights}, x, y, rows, scratch);
}

WindowFunctions make() {
  return {.scratch_size = scratch_size, .highest = highest, .sum = sum_of, .weighted = weighted};
}

}  // namespace
}  // namespace rlx::vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rlx::vector {
WindowFunctions window_functions(Isa isa) { return RLX_OF_ISA(isa, make); }
}  // namespace rlx::vector
#endif
