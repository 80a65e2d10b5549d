// Fourier transforms of any length, as NumPy names them. A complex number is two along a last dim;
// axes are those of the numbers, that dim not counted.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

struct FftOptions {
  int64_t length = 0;             // 0: what there is; else numbers are cut, or zeros follow
  std::string norm = "backward";  // which way 1 / n is taken: or "forward", or "ortho" by roots
};
Value fft(Value x, int64_t axis = -1, const FftOptions& options = {});  // [.., n, 2] to the same
Value ifft(Value x, int64_t axis = -1, const FftOptions& options = {});
// Of real numbers [.., n]: the first n / 2 + 1 frequencies, [.., n / 2 + 1, 2].
Value rfft(Value x, int64_t axis = -1, const FftOptions& options = {});
// Back to real numbers [.., n]; without a length n is even.
Value irfft(Value x, int64_t axis = -1, const FftOptions& options = {});

// Along several axes, all where none is named; of real numbers the last one is halved.
struct FftnOptions {
  Ints axes = {}, lengths = {};  // lengths: empty, or one for each
  std::string norm = "backward";
};
Value fftn(Value x, const FftnOptions& options = {});
Value ifftn(Value x, const FftnOptions& options = {});
Value rfftn(Value x, const FftnOptions& options = {});
Value irfftn(Value x, const FftnOptions& options = {});

// The frequency of each element of an fft, or of an rfft, of n numbers, `spacing` apart in time.
Value fftfreq(Value like, int64_t n, double spacing = 1);
Value rfftfreq(Value like, int64_t n, double spacing = 1);

// Products of complex numbers, and |z|^2, which drops the last dim.
Value complex_mul(Value a, Value b);
Value complex_power(Value z);

// The op they are made of: a length without prime factors beyond 7, with its table
// fourier_turns(x, n). No norm, but a factor.
Value fourier(Value x, Value turns, bool inverse = false, double scale = 1);
Value fourier_turns(Value like, int64_t n);
// Twice the spectrum of n real samples from the transform of n / 2 numbers whose parts they are, or
// back; turns holds the first n / 2 + 1 of fourier_turns(x, n). The two real ones come `ends`
// times.
Value half_spectrum(Value x, Value turns, bool inverse = false, double ends = 1);

}  // namespace rlx
