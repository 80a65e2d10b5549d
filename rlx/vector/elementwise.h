// Functions of single elements of f32, along memory.
#pragma once

#include <cstdint>

#include "rlx/vector/elements.h"
#include "rlx/vector/isa.h"

namespace rlx::vector {

// y[i] = f(x[i]); y may be x. Each is +-1 ulp or better where nothing else is said.
struct Elementwise {
  using Function = void (*)(const float* x, float* y, int64_t count);
  Function exp;        // 2 ulp
  Function log;        // 2 ulp
  Function sin, cos;   // 2 ulp or 1e-7, and as std::sin beyond 8192
  Function tanh;       // 6 ulp
  Function sigmoid;    // 4 ulp of normal numbers
  Function silu;       // 5 ulp of normal numbers
  Function erf;        // 4 ulp, 4e-7
  Function gelu;       // 4e-7 |x|
  Function gelu_tanh;  // 4e-7 |x|
  Function relu;
  Function square;
  Function sqrt;

  // Between dtypes; numbers are rounded to the nearest, ties to even.
  void (*widen)(Element from, const void* x, float* y, int64_t count);
  void (*narrow)(const float* x, Element to, void* y, int64_t count);
};
Elementwise elementwise(Isa isa);

}  // namespace rlx::vector
