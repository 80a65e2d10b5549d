// What Fourier transforms of every device share: fractions of a turn, and the factors of a length.
#pragma once

#include <cstdint>
#include <vector>

namespace rlx {

struct Turn {
  double cosine = 1, sine = 0;
};
// Of k / n of a full turn, k >= 0 and 8 n within 64 bits: exact where k / n is a multiple of an
// eighth but for the root of 1/2, and the same up to signs in all eighths.
Turn turn_of(int64_t k, int64_t n);

// The lengths a transform is made of: 8, 4, 2, 7, 5, 3, in this order. Only of a smooth number.
std::vector<int> radices_of(int64_t n);
// Has no prime factor beyond 7.
bool is_smooth(int64_t n);

}  // namespace rlx
