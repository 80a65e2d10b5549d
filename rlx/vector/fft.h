// Fourier transforms of lines of complex f32, pairs of numbers side by side, whose length has no
// prime factor beyond 7: as many lines at once as a vector has lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "rlx/vector/isa.h"
#include "rlx/vector/range.h"

namespace rlx::vector {

// One length, made ready: the radices of its passes and what each multiplies by.
struct FftLength {
  int64_t length = 1;
  std::vector<int> radices;
  std::vector<float> turns;  // pairs, of each pass [m, radix - 1]

  FftLength() = default;
  explicit FftLength(int64_t n);
};

// y_k = scale * sum over t of x_t exp(-2 pi i k t / n). Steps are in complex numbers. The inverse
// is the same between two exchanges of real and imaginary parts.
struct FftLines {
  const FftLength* length = nullptr;
  const float* x = nullptr;
  float* y = nullptr;
  int64_t x_step = 1, x_line = 0, y_step = 1, y_line = 0;  // from element to element, line to line
  bool swaps_in = false, swaps_out = false;
  float scale = 1;
  // Element k of line l is multiplied by turn l k of a longer transform: [ceil(lines / lanes),
  // length, 2, lanes], or null.
  const float* between = nullptr;
};

struct FftFunctions {
  int64_t lanes;
  void (*lines)(const FftLines& lines, Range range, float* scratch);  // begins at a multiple
  // Of a spectrum of 2 h real samples and the transform of h numbers made of them: the numbers 1 to
  // h - 1 of one from the other, which are in pairs from both ends. `turns` holds half a turn.
  void (*half)(const float* x, const float* turns, int64_t h, bool inverse, float* y);
  // Floats that `lines` works in.
  int64_t scratch(int64_t length) const { return 4 * length * lanes; }
};
FftFunctions fft(Isa isa);

// A length as one pass over lines, or as two of about its root: columns, then rows.
struct FftPlan {
  int64_t length = 1;
  FftLength first, second;     // `second` is of length 1 where there is one pass
  std::vector<float> between;  // see FftLines

  FftPlan() = default;
  // Few lines of any length, and all long ones, take two.
  FftPlan(int64_t n, int64_t lines, int64_t lanes);
};

}  // namespace rlx::vector
