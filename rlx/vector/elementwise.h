// Functions of single elements of f32, along memory.
#pragma once

#include <cstdint>

#include "rlx/vector/elements.h"
#include "rlx/vector/isa.h"

namespace rlx::vector {

// Those from lt on give 1 where it holds, else 0.
enum class Binary : uint8_t { add, sub, mul, div, max, min, lt, le, gt, ge, eq, ne };

// y[i] = f(x[i]); y may be x. Each is +-1 ulp or better where nothing else is said.
struct Elementwise {
  using Function = void (*)(const float* x, float* y, int64_t count);
  Function exp;         // 2 ulp
  Function log;         // 2 ulp
  Function sin, cos;    // 2 ulp or 1e-7, and as std::sin beyond 8192
  Function tanh;        // 6 ulp
  Function sigmoid;     // 4 ulp of normal numbers
  Function silu;        // 5 ulp of normal numbers
  Function erf;         // 4 ulp, 4e-7
  Function gelu;        // 16 ulp
  Function gelu_quick;  // 4e-7 |x|, in less time
  Function gelu_tanh;   // 32 ulp from -3 on, then as its exponent is rounded
  Function relu;
  Function hard_swish;  // x * (x / 6 + 1/2 cut to 0 .. 1)
  Function neg, abs, reciprocal;
  Function square;
  Function sqrt, rsqrt;               // 2 ulp
  Function expm1;                     // 4 ulp
  Function log1p;                     // 4 ulp
  Function softplus;                  // 4 ulp of normal numbers
  Function mish;                      // 12 ulp of normal numbers
  Function softsign;                  // 2 ulp
  Function floor, ceil, round, sign;  // exact; halves to even

  // y[i] = a[i * a_step] combined with b[i * b_step]; steps of 0 and 1 are the fast ones. What is
  // no number stays one in max and min. y may be a or b where that has step 1.
  void (*combine)(Binary how, const float* a, int64_t a_step, const float* b, int64_t b_step,
                  float* y, int64_t count);
  // y[i] = a[i] where c[i] is not 0, else b[i]; steps as above. y may be an operand of step 1.
  void (*choose)(const float* c, int64_t c_step, const float* a, int64_t a_step, const float* b,
                 int64_t b_step, float* y, int64_t count);
  // y[i] = f(x[i]) with two numbers; what is no number stays.
  using Shaped = void (*)(const float* x, float a, float b, float* y, int64_t count);
  Shaped clamp;         // a: low, b: high
  Shaped hard_sigmoid;  // a * x + b cut to 0 .. 1
  Shaped leaky_relu;    // a * x where x is below 0
  Shaped elu;           // where x is not above 0 a (e^x - 1)
  Shaped selu;          // b times that
  Shaped celu;          // a (e^(x / a) - 1)

  // Between dtypes; numbers are rounded to the nearest, ties to even.
  void (*widen)(Element from, const void* x, float* y, int64_t count);
  void (*narrow)(const float* x, Element to, void* y, int64_t count);
};
Elementwise elementwise(Isa isa);

}  // namespace rlx::vector
