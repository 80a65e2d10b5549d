// Fourier transforms and the windows for them.
#pragma once

#include "rlx/ir/value.h"

namespace rlx {

// Signals whose last dim is 1, or 2 for the parts of complex numbers.
struct DftOptions {
  int64_t length = 0;  // 0: as many as there are samples; else they are cut or zeros follow
  bool inverse = false;
  bool onesided = false;  // only the first length / 2 + 1 frequencies
};
// The discrete Fourier transform along an axis, as the product with a matrix.
Value dft(Value x, int64_t axis, const DftOptions& options = {});
// That of frames of `length` samples, every `step`: signal [B, S, 1 or 2] to [B, frames, K, 2].
Value stft(Value signal, int64_t step, int64_t length, Value window = {}, bool onesided = true);
// a0 - a1 cos(t) + a2 cos(2 t) - .. over `size` places, one integer known on the host; t makes a
// full turn at the end, or if it is not periodic at the last place.
Value cosine_window(Value size, const Floats& terms, bool periodic = true,
                    DType dtype = DType::f32);

}  // namespace rlx
