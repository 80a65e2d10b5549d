#include "rlx/base/fourier.h"

#include <cmath>

namespace rlx {

Turn turn_of(int64_t k, int64_t n) {
  constexpr double kWhole = 6.283185307179586476925286766559;
  k %= n;
  const int64_t eighth = 8 * k / n, part = 8 * k - eighth * n;  // of an eighth, in 1 / n
  const double near = static_cast<double>(eighth % 2 == 0 ? part : n - part);  // the nearer axis
  const double angle = kWhole * near / static_cast<double>(8 * n);
  // Where both are equal they are one number.
  const double c = std::cos(angle), s = eighth % 2 == 1 && part == 0 ? c : std::sin(angle);
  switch (eighth) {
    case 0:
      return {c, s};
    case 1:
      return {s, c};
    case 2:
      return {-s, c};
    case 3:
      return {-c, s};
    case 4:
      return {-c, -s};
    case 5:
      return {-s, -c};
    case 6:
      return {s, -c};
    default:
      return {c, -s};
  }
}

std::vector<int> radices_of(int64_t n) {
  std::vector<int> radices;
  // Twos last: what they alone decide, such as the middle frequency of real numbers, is then exact.
  for (const int prime : {7, 5, 3})
    for (; n % prime == 0; n /= prime) radices.push_back(prime);
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  // Eights, and fours rather than a two.
  while (twos > 4 || twos == 3) radices.push_back(8), twos -= 3;
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  return radices;
}

bool is_smooth(int64_t n) {
  if (n < 1) return false;
  for (const int prime : {2, 3, 5, 7})
    while (n % prime == 0) n /= prime;
  return n == 1;
}

}  // namespace rlx
