// Arithmetic and functions of one element: signs, powers and logarithms, rounding.

#include <cmath>
#include <limits>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

constexpr double kTwoOverSqrtPi = 1.1283791670955126;

// A bound as an operand of the same type: toward zero, and within range.
double bound_as(double, double value) { return value; }
template <class T>
T bound_as(T, double value) {
  using Limits = std::numeric_limits<T>;
  if (!(value > static_cast<double>(Limits::min()))) return Limits::min();
  return value < static_cast<double>(Limits::max()) ? static_cast<T>(value) : Limits::max();
}

}  // namespace

std::vector<OpDef> rows::math_rows() {
  return {
      op<kNumbers>({.name = "neg",
                    .wgsl = {"-x", "-x", "0u - x"},
                    .gradient = [](Site s) -> Gradients { return {-s.dy()}; },
                    .onnx = "Neg"},
                   [](auto x) { return -wide(x); }),
      op<kNumbers>({.name = "abs",
                    .wgsl = {"abs(x)", "abs(x)", "x"},
                    .gradient = [](Site s) -> Gradients { return {s.dy() * sign(s.in(0))}; },
                    .onnx = "Abs"},
                   [](auto x) { return x < 0 ? -wide(x) : wide(x); }),
      op<kNumbers>({.name = "sign",
                    .wgsl = {"select(f32(sign(order(x))), x, is_nan(x))", "sign(x)", "min(x, 1u)"},
                    .gradient = flat,
                    .onnx = "Sign",
                    .safe_i64 = true},
                   [](auto x) { return x > 0   ? decltype(x)(1)
                                       : x < 0 ? decltype(x)(-1)
                                               : x; }),
      op<kFloats>({.name = "exp",
                   .wgsl = "exp_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * s.y()}; },
                   .onnx = "Exp",
                   .includes = {"functions"},
                   .ulps = 4},
                  [](auto x) { return std::exp(x); }),
      op<kFloats>({.name = "log",
                   .wgsl = "log_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() / s.in(0)}; },
                   .onnx = "Log",
                   .includes = {"functions"},
                   .ulps = 4,
                   .absolute_error = 0x1p-21},
                  [](auto x) { return std::log(x); }),
      op<kFloats>({.name = "log1p",
                   .wgsl = "log1p_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() / (1 + s.in(0))}; },
                   .includes = {"functions"},
                   .ulps = 6},
                  [](auto x) { return std::log1p(x); }),
      op<kFloats>({.name = "expm1",
                   .wgsl = "expm1_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * (1 + s.y())}; },
                   .includes = {"functions"},
                   .ulps = 6},
                  [](auto x) { return std::expm1(x); }),
      op<kFloats>({.name = "sqrt",
                   .wgsl = "sqrt_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     // What asks for nothing gets nothing, at 0 too: the norm of a vector of zeros.
                     return {if_false(equal(s.dy(), scalar(s.dy(), 0)), 0.5 * s.dy() / s.y())};
                   },
                   .onnx = "Sqrt",
                   .includes = {"functions"},
                   .ulps = 4},
                  [](auto x) { return std::sqrt(x); }),
      op<kFloats>(
          {.name = "rsqrt",
           .wgsl = "1.0 / sqrt_f32(x)",
           .gradient = [](Site s) -> Gradients { return {-0.5 * s.dy() * s.y() / s.in(0)}; },
           .includes = {"functions"},
           .ulps = 6},
          [](auto x) { return 1 / std::sqrt(x); }),
      op<kFloats>({.name = "reciprocal",
                   .wgsl = "1.0 / x",
                   .gradient = [](Site s) -> Gradients { return {-s.dy() * s.y() * s.y()}; },
                   .onnx = "Reciprocal",
                   .ulps = 4},
                  [](auto x) { return 1 / x; }),
      op<kFloats>({.name = "erf",
                   .wgsl = "erf_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     return {kTwoOverSqrtPi * s.dy() * exp(-s.in(0) * s.in(0))};
                   },
                   .onnx = "Erf",
                   .includes = {"functions", "erf"},
                   .ulps = 8},
                  [](auto x) { return std::erf(x); }),
      op<kFloats>({.name = "floor", .wgsl = "floor(x)", .gradient = flat, .onnx = "Floor"},
                  [](auto x) { return std::floor(x); }),
      op<kFloats>({.name = "ceil", .wgsl = "ceil(x)", .gradient = flat, .onnx = "Ceil"},
                  [](auto x) { return std::ceil(x); }),
      // Straight through, as quantisation wants it, where the slope of the steps is 0.
      op<kFloats>({.name = "round",
                   .wgsl = "round(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy()}; },
                   .onnx = "Round"},
                  [](auto x) { return std::nearbyint(x); }),
      op<kNumbers>({.name = "clip",
                    .wgsl = {"min_or_nan(max_or_nan(x, min), max)",
                             "select(select(x, min, x < min), max, x > max || min > max)",
                             "select(select(x, min, x < min), max, x > max || min > max)"},
                    .gradient = [](Site s) -> Gradients {
                      const Value x = s.in(0), low = scalar(x, s.attrs().get<double>("min"));
                      const Value high = scalar(x, s.attrs().get<double>("max"));
                      return {
                          if_true(logical_and(greater_equal(x, low), less_equal(x, high)), s.dy())};
                    },
                    .params = {{"min", -INFINITY}, {"max", INFINITY}}},
                   [](auto x, Params p) {
                     const auto low = bound_as(x, p[0]), high = bound_as(x, p[1]);
                     const auto raised = x < low ? low : x;
                     return raised > high ? high : raised;
                   }),
  };
}

Value neg(Value x) { return apply("neg", {x}); }
Value abs(Value x) { return apply("abs", {x}); }
Value sign(Value x) { return apply("sign", {x}); }
Value exp(Value x) { return apply("exp", {x}); }
Value log(Value x) { return apply("log", {x}); }
Value log1p(Value x) { return apply("log1p", {x}); }
Value expm1(Value x) { return apply("expm1", {x}); }
Value sqrt(Value x) { return apply("sqrt", {x}); }
Value rsqrt(Value x) { return apply("rsqrt", {x}); }
Value reciprocal(Value x) { return apply("reciprocal", {x}); }
Value erf(Value x) { return apply("erf", {x}); }
Value floor(Value x) { return apply("floor", {x}); }
Value ceil(Value x) { return apply("ceil", {x}); }
Value round(Value x) { return apply("round", {x}); }
Value clip(Value x, double min, double max) {
  return apply("clip", {x}, {{"min", min}, {"max", max}});
}
Value operator-(Value x) { return neg(x); }

}  // namespace rlx
