// Arithmetic of two elements. Operands broadcast; integers wrap.

#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

// Truncates, where a Dim's division floors: the same from 0 up.
std::optional<Dim> divide(const Dim* x) {
  const Dim &a = x[0], &b = x[1];
  if (b.is(0)) return Dim(0);
  if (a.is(INT64_MIN) && b.is(-1)) return std::nullopt;  // no Dim: it wraps
  if (a.is_number() && b.is_number()) return Dim(a.number() / b.number());
  if (range_of(a).low < 0 || range_of(b).low < 1) return std::nullopt;
  return floor_div(a, b);
}
std::optional<Dim> modulo(const Dim* x) {
  const Dim &a = x[0], &b = x[1];
  if (b.is(0)) return Dim(0);
  if (range_of(b).low < 1) return std::nullopt;
  return mod(a, b);
}

template <class T>
T divided(T x, T y) {
  if constexpr (!std::is_same_v<T, double>) {
    if (y == 0) return 0;
    if (y == static_cast<T>(-1)) return std::is_signed_v<T> ? static_cast<T>(-wide(x)) : x == y;
  }
  return x / y;
}

// With the sign of x.
template <class T>
T remainder_of(T x, T y) {
  if constexpr (std::is_same_v<T, double>)
    return std::fmod(x, y);
  else
    return y == 0 ? 0 : static_cast<T>(wide(x) - wide(divided(x, y)) * wide(y));
}
// With the sign of y.
template <class T>
T modulus_of(T x, T y) {
  const T rest = remainder_of(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
}

// What is not a whole number goes toward zero: 2 ^ -1 is 0, and so is 0 ^ -1.
template <class T>
T power_of(T x, T y) {
  if constexpr (std::is_same_v<T, double>) {
    return std::pow(x, y);
  } else {
    const bool odd = (y & 1) != 0;
    if (y < 0) return x == 1 ? 1 : x == static_cast<T>(-1) ? (odd ? x : 1) : 0;
    uint64_t result = 1, square = wide(x);
    for (uint64_t n = wide(y); n > 0; n >>= 1, square *= square)
      if ((n & 1) == 1) result *= square;
    return static_cast<T>(result);
  }
}

// The gradient of x - y * q, where q is whole.
Gradients remainder_gradient(Site s) {
  const Value x = s.in(0), y = s.in(1);
  return {unbroadcast(s.dy(), x), unbroadcast(s.dy() * round((s.y() - x) / y), y)};
}

// As in PyTorch: two equal operands share the gradient, and where one is NaN both get all of it.
// `x_loses` and `y_loses` are true where the other operand is the result.
Gradients extreme_gradient(Site s, Value x_loses, Value y_loses) {
  const Value x = s.in(0), y = s.in(1), shared = where(equal(x, y), 0.5 * s.dy(), s.dy());
  return {unbroadcast(if_false(x_loses, shared), x), unbroadcast(if_false(y_loses, shared), y)};
}

}  // namespace

std::vector<OpDef> rows::binary_rows() {
  return {
      op<kNumbers>({.name = "add",
                    .wgsl = "x + y",
                    .gradient = [](Site s) -> Gradients {
                      return {unbroadcast(s.dy(), s.in(0)), unbroadcast(s.dy(), s.in(1))};
                    },
                    .onnx = "Add",
                    .on_dims = [](const Dim* x) -> std::optional<Dim> { return x[0] + x[1]; }},
                   [](auto x, auto y) { return wide(x) + wide(y); }),
      op<kNumbers>({.name = "sub",
                    .wgsl = "x - y",
                    .gradient = [](Site s) -> Gradients {
                      return {unbroadcast(s.dy(), s.in(0)), unbroadcast(-s.dy(), s.in(1))};
                    },
                    .onnx = "Sub",
                    .on_dims = [](const Dim* x) -> std::optional<Dim> { return x[0] - x[1]; }},
                   [](auto x, auto y) { return wide(x) - wide(y); }),
      op<kNumbers>({.name = "mul",
                    .wgsl = "x * y",
                    .gradient = [](Site s) -> Gradients {
                      const Value x = s.in(0), y = s.in(1);
                      return {unbroadcast(s.dy() * y, x), unbroadcast(s.dy() * x, y)};
                    },
                    .onnx = "Mul",
                    .on_dims = [](const Dim* x) -> std::optional<Dim> { return x[0] * x[1]; }},
                   [](auto x, auto y) { return wide(x) * wide(y); }),
      // Integers truncate toward zero; x / 0 is 0.
      op<kNumbers>({.name = "div",
                    .wgsl = {"x / y", "divide_i32(x, y)", "divide_u32(x, y)"},
                    .gradient = [](Site s) -> Gradients {
                      const Value x = s.in(0), y = s.in(1), dx = s.dy() / y;
                      return {unbroadcast(dx, x), unbroadcast(-dx * s.y(), y)};
                    },
                    .onnx = "Div",
                    .includes = {"integers"},
                    .ulps = 4,
                    .on_dims = divide},
                   [](auto x, auto y) { return divided(x, y); }),
      // The remainder with the sign of the divisor, as Python has it; by 0 it is 0, of floats NaN.
      op<kNumbers>({.name = "mod",
                    .wgsl = {"mod_f32(x, y)", "mod_i32(x, y)", "mod_u32(x, y)"},
                    .gradient = remainder_gradient,
                    .onnx = "Mod",
                    .includes = {"integers", "modulo"},
                    .ulps = 2,
                    .safe_i64 = true,
                    .on_dims = modulo},
                   [](auto x, auto y) { return modulus_of(x, y); }),
      // The remainder with the sign of x, as C has it; exact.
      op<kNumbers>({.name = "fmod",
                    .wgsl = {"fmod_f32(x, y)", "remainder_i32(x, y)", "mod_u32(x, y)"},
                    .gradient = remainder_gradient,
                    .includes = {"integers", "modulo"},
                    .safe_i64 = true},
                   [](auto x, auto y) { return remainder_of(x, y); }),
      op<kNumbers>({.name = "max",
                    .wgsl = {"max_or_nan(x, y)", "max(x, y)", "max(x, y)"},
                    .gradient = [](Site s) -> Gradients {
                      return extreme_gradient(s, less(s.in(0), s.in(1)), less(s.in(1), s.in(0)));
                    },
                    .safe_i64 = true,
                    .on_dims = [](const Dim* x) -> std::optional<Dim> { return max(x[0], x[1]); }},
                   [](auto x, auto y) { return x >= y || x != x ? x : y; }),
      op<kNumbers>({.name = "min",
                    .wgsl = {"min_or_nan(x, y)", "min(x, y)", "min(x, y)"},
                    .gradient = [](Site s) -> Gradients {
                      return extreme_gradient(s, less(s.in(1), s.in(0)), less(s.in(0), s.in(1)));
                    },
                    .safe_i64 = true,
                    .on_dims = [](const Dim* x) -> std::optional<Dim> { return min(x[0], x[1]); }},
                   [](auto x, auto y) { return x <= y || x != x ? x : y; }),
      op<kNumbers>({.name = "pow",
                    .wgsl = {"pow_f32(x, y)", "pow_i32(x, y)", "pow_u32(x, y)"},
                    .gradient = [](Site s) -> Gradients {
                      const Value x = s.in(0), y = s.in(1), zero = scalar(x, 0);
                      const Value dx = if_false(equal(y, zero), s.dy() * y * pow(x, -1 + y));
                      const Value dy = if_false(equal(x, zero), s.dy() * s.y() * log(x));
                      return {unbroadcast(dx, x), unbroadcast(dy, y)};
                    },
                    .onnx = "Pow",
                    .includes = {"functions", "power", "integers"},
                    .ulps = 8},
                   [](auto x, auto y) { return power_of(x, y); }),
  };
}

Value operator+(Value x, Value y) { return apply("add", {x, y}); }
Value operator-(Value x, Value y) { return apply("sub", {x, y}); }
Value operator*(Value x, Value y) { return apply("mul", {x, y}); }
Value operator/(Value x, Value y) { return apply("div", {x, y}); }
Value operator+(Value x, double y) { return x + scalar(x, y); }
Value operator-(Value x, double y) { return x - scalar(x, y); }
Value operator*(Value x, double y) { return x * scalar(x, y); }
Value operator/(Value x, double y) { return x / scalar(x, y); }
Value operator+(double x, Value y) { return scalar(y, x) + y; }
Value operator-(double x, Value y) { return scalar(y, x) - y; }
Value operator*(double x, Value y) { return scalar(y, x) * y; }
Value operator/(double x, Value y) { return scalar(y, x) / y; }
Value mod(Value x, Value y) { return apply("mod", {x, y}); }
Value fmod(Value x, Value y) { return apply("fmod", {x, y}); }
Value maximum(Value x, Value y) { return apply("max", {x, y}); }
Value minimum(Value x, Value y) { return apply("min", {x, y}); }
Value pow(Value x, Value y) { return apply("pow", {x, y}); }

}  // namespace rlx
