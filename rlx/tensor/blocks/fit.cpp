#include "rlx/tensor/blocks/fit.h"

#include <algorithm>
#include <cmath>

namespace rlx::blocks {
namespace {

constexpr int kSteps = 12;  // on either side of the scale that spans the values

// What a choice of levels loses against the values, with the best scale for those levels.
struct Fit {
  double scale = 0, loss = 0;
};

// Least squares of x over levels: sum(x * q) / sum(q * q).
template <class Level>
Fit fitted(const float* x, int64_t count, const Level& level) {
  double xq = 0, qq = 0, xx = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = x[i], q = level(x[i]);
    xq += value * q, qq += q * q, xx += value * value;
  }
  if (qq == 0) return {0, xx};
  return {xq / qq, xx - xq * xq / qq};
}

template <class Level>
float best_scale(const float* x, int64_t count, double span, double first, const Level& level) {
  Fit best{0, 1e300};
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double inverse = (span + 0.1 * step) / first;
    const Fit fit =
        fitted(x, count, [&](float v) { return level(static_cast<float>(v * inverse)); });
    if (fit.loss < best.loss) best = fit;
  }
  return static_cast<float>(best.scale);
}

}  // namespace

float fit_scale(const float* x, int64_t count, int low, int high) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i)
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  if (most == 0) return 0;
  return best_scale(x, count, low, static_cast<double>(most),
                    [&](float v) { return static_cast<double>(rounded_to(v, low, high)); });
}

Affine fit_affine(const float* x, int64_t count, int levels, Sign of_minimum) {
  const bool any = of_minimum == Sign::any;
  const auto [least, most] = std::minmax_element(x, x + count);
  const double low = any ? *least : std::min(0.0F, *least), high = *most;
  if (high <= low) return {0, static_cast<float>(-low)};
  Affine best{static_cast<float>((high - low) / levels), static_cast<float>(-low)};
  double best_loss = 1e300;
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double inverse = (levels + 0.1 * step) / (high - low);
    // x = s * q - m: two unknowns, by their normal equations.
    double n = static_cast<double>(count), q1 = 0, q2 = 0, x1 = 0, xq = 0;
    const auto level = [&](float v) {
      return static_cast<double>(rounded_to(static_cast<float>((v - low) * inverse), 0, levels));
    };
    for (int64_t i = 0; i < count; ++i) {
      const double q = level(x[i]), value = x[i];
      q1 += q, q2 += q * q, x1 += value, xq += value * q;
    }
    const double determinant = n * q2 - q1 * q1;
    if (determinant <= 0) continue;
    double s = (n * xq - q1 * x1) / determinant, m = (s * q1 - x1) / n;
    if (m < 0 && !any) m = 0, s = q2 > 0 ? xq / q2 : 0;
    if (s <= 0) continue;
    double loss = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double off = s * level(x[i]) - m - static_cast<double>(x[i]);
      loss += off * off;
    }
    if (loss < best_loss) best_loss = loss, best = {static_cast<float>(s), static_cast<float>(m)};
  }
  return best;
}

int nearest_level(float x, const int8_t* table) {
  int best = 0;
  for (int q = 1; q < 16; ++q)
    if (std::abs(x - static_cast<float>(table[q])) < std::abs(x - static_cast<float>(table[best])))
      best = q;
  return best;
}

float fit_table(const float* x, int64_t count, const int8_t* table) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i)
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  if (most == 0) return 0;
  const auto level = [&](float v) { return static_cast<double>(table[nearest_level(v, table)]); };
  // Steps of 0.1 are small beside levels of 100: the same share of them as of the other formats'.
  Fit best{0, 1e300};
  for (int step = -kSteps; step <= kSteps; ++step) {
    const double inverse = table[0] * (1 + 0.015 * step) / static_cast<double>(most);
    const Fit fit =
        fitted(x, count, [&](float v) { return level(static_cast<float>(v * inverse)); });
    if (fit.loss < best.loss) best = fit;
  }
  return static_cast<float>(best.scale);
}

}  // namespace rlx::blocks
