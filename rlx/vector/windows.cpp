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

constexpr int64_t kMostTaps = 64;  // of a window along one axis
constexpr int64_t kStrip = 16;     // rows of the result whose rows of x are made ready together

// Rows of x with their padding, every stride-th element side by side: then each tap of a row of
// windows reads along memory.
struct Ready {
  int64_t phase = 0, row = 0;  // floats of one phase, and of all of one row
  explicit Ready(const Windows& w) {
    const int64_t reach = (w.x.window - 1) * w.x.dilation / w.x.stride;
    phase = (w.x.out + reach + 5 * kLanes) / kLanes * kLanes;
    row = phase * w.x.stride;
  }
};

int64_t strip_rows(const Windows& w) {
  return (kStrip - 1) * w.y.stride + (w.y.window - 1) * w.y.dilation + 1;
}
// One row more, of padding alone, stands for those beyond x.
int64_t scratch_size(const Windows& w) { return Ready(w).row * (strip_rows(w) + 1); }

HWY_INLINE void fill(float* to, int64_t count, float value) {
  for (; count >= kLanes; count -= kLanes, to += kLanes) store(set(value), to);
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}
HWY_INLINE void copy(const float* from, float* to, int64_t count) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) store(load(from), to);
  if (count > 0) store_part(load_part(from, count), to, count);
}

void make_row(const Windows& w, const Ready& ready, const float* x, float padding, float* to) {
  for (int64_t p = 0; p < w.x.stride; ++p) {
    float* phase = to + p * ready.phase;
    // Element i of the phase is x[i * stride + p - before].
    const int64_t shift = p - w.x.before, room = w.x.in - shift;
    const int64_t first =
        std::min(ready.phase, shift >= 0 ? 0 : (-shift + w.x.stride - 1) / w.x.stride);
    const int64_t end = std::clamp<int64_t>(room <= 0 ? 0 : (room + w.x.stride - 1) / w.x.stride,
                                            first, ready.phase);
    fill(phase, first, padding);
    if (end > first && w.x.stride == 1)
      copy(x + first + shift, phase + first, end - first);
    else
      for (int64_t i = first; i < end; ++i) phase[i] = x[i * w.x.stride + shift];
    fill(phase + end, ready.phase - end, padding);
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

// Where the taps of a window are in the rows of x under it.
struct Taps {
  int64_t offsets[kMostTaps];  // along a row
  Taps(const Windows& w, const Ready& ready) {
    for (int64_t j = 0; j < w.x.window; ++j) {
      const int64_t reach = j * w.x.dilation;
      offsets[j] = reach % w.x.stride * ready.phase + reach / w.x.stride;
    }
  }
};
using RowsUnder = const float* [kMostTaps];

// Some rows of the result side by side, so that their sums need not wait for each other.
template <class How, int rows, int vectors>
HWY_INLINE void block_of(const Windows& w, const Taps& taps, const How& how, const RowsUnder* under,
                         int64_t at, float* y) {
  F totals[rows][vectors];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) totals[r][v] = set(how.start);
  for (int64_t i = 0, tap = 0; i < w.y.window; ++i)
    for (int64_t j = 0; j < w.x.window; ++j, ++tap) {
      const int64_t offset = taps.offsets[j] + at;
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
          totals[r][v] = how.tap(totals[r][v], load(under[r][i] + offset + v * kLanes), tap);
    }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const int64_t left = w.x.out - at - v * kLanes;
      store_some(totals[r][v], y + r * w.x.out + at + v * kLanes, left);
    }
}
template <class How, int rows>
void rows_of(const Windows& w, const Taps& taps, const How& how, const RowsUnder* under, float* y) {
  int64_t at = 0;
  for (; w.x.out - at > 3 * kLanes; at += 4 * kLanes)
    block_of<How, rows, 4>(w, taps, how, under, at, y);
  const int64_t left = w.x.out - at;
  if (left > 2 * kLanes) return block_of<How, rows, 3>(w, taps, how, under, at, y);
  if (left > kLanes) return block_of<How, rows, 2>(w, taps, how, under, at, y);
  if (left > 0) block_of<How, rows, 1>(w, taps, how, under, at, y);
}

template <class How>
void run(const Windows& w, const How& how, const float* x, float* y, Range rows, float* scratch) {
  constexpr int kRows = 2;
  const Ready ready(w);
  const Taps taps(w, ready);
  RowsUnder under[kRows];
  float* padding = scratch + strip_rows(w) * ready.row;
  fill(padding, ready.row, How::padding);
  for (int64_t strip = rows.begin; strip < rows.end; strip += kStrip) {
    const int64_t end = std::min(strip + kStrip, rows.end);
    const int64_t first_row = strip * w.y.stride - w.y.before;
    const int64_t end_row =
        (end - 1) * w.y.stride - w.y.before + (w.y.window - 1) * w.y.dilation + 1;
    for (int64_t i = std::max<int64_t>(first_row, 0); i < std::min(end_row, w.y.in); ++i)
      make_row(w, ready, x + i * w.x.in, How::padding, scratch + (i - first_row) * ready.row);
    for (int64_t at = strip; at < end; at += kRows) {
      const int64_t together = std::min<int64_t>(kRows, end - at);
      for (int64_t r = 0; r < together; ++r)
        for (int64_t i = 0; i < w.y.window; ++i) {
          const int64_t row = (at + r) * w.y.stride - w.y.before + i * w.y.dilation;
          under[r][i] =
              row >= 0 && row < w.y.in ? scratch + (row - first_row) * ready.row : padding;
        }
      if (together == kRows)
        rows_of<How, kRows>(w, taps, how, under, y + at * w.x.out);
      else
        rows_of<How, 1>(w, taps, how, under, y + at * w.x.out);
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
