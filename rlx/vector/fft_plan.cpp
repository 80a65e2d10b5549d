// How a length is taken apart for fft.cpp, and its tables.

#include <cstddef>

#include "rlx/base/fourier.h"
#include "rlx/vector/fft.h"

namespace rlx::vector {
namespace {

void put_turn(int64_t k, int64_t n, float* to) {
  const Turn turn = turn_of(k, n);
  to[0] = static_cast<float>(turn.cosine);
  to[1] = static_cast<float>(0 - turn.sine);
}

}  // namespace

FftLength::FftLength(int64_t n) : length(n), radices(radices_of(n)) {
  int64_t rest = n;
  for (const int radix : radices) {
    const int64_t m = rest / radix;
    for (int64_t p = 0; p < m; ++p)
      for (int64_t k = 1; k < radix; ++k) {
        turns.resize(turns.size() + 2);
        put_turn(p * k, rest, &turns[turns.size() - 2]);
      }
    rest = m;
  }
}

FftPlan::FftPlan(int64_t n, int64_t lines, int64_t lanes) : length(n), first(1), second(1) {
  constexpr int64_t kLong = 2048, kShort = 64;  // by what fits the second cache; by trying
  int64_t rows = n;
  if (n > kLong || (lines < lanes && n >= kShort)) {
    for (int64_t d = 1; d * d <= n; ++d)
      if (n % d == 0) rows = n / d;
  }
  first = FftLength(rows);
  if (rows == n) return;
  const int64_t columns = n / rows, groups = (columns + lanes - 1) / lanes;
  second = FftLength(columns);
  between.resize(static_cast<size_t>(groups * rows * 2 * lanes));
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        float turn[2];
        put_turn((group * lanes + lane) * k, n, turn);
        float* to = &between[static_cast<size_t>((group * rows + k) * 2 * lanes + lane)];
        to[0] = turn[0];
        to[lanes] = turn[1];
      }
}

}  // namespace rlx::vector
