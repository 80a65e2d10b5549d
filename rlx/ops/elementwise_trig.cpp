// Trigonometric and hyperbolic functions and their inverses; out of the domain they are NaN.

#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

}  // namespace

std::vector<OpDef> rows::trig_rows() {
  return {
      op<kFloats>({.name = "sin",
                   .wgsl = "sin_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * cos(s.in(0))}; },
                   .onnx = "Sin",
                   .includes = {"trig"},
                   .ulps = 8,
                   .absolute_error = 0x1p-21},
                  [](auto x) { return std::sin(x); }),
      op<kFloats>({.name = "cos",
                   .wgsl = "cos_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {-s.dy() * sin(s.in(0))}; },
                   .onnx = "Cos",
                   .includes = {"trig"},
                   .ulps = 8,
                   .absolute_error = 0x1p-21},
                  [](auto x) { return std::cos(x); }),
      op<kFloats>({.name = "tan",
                   .wgsl = "tan_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * (1 + s.y() * s.y())}; },
                   .onnx = "Tan",
                   .includes = {"numbers", "trig"},
                   .ulps = 16,
                   .absolute_error = 0x1p-21},
                  [](auto x) { return std::tan(x); }),
      op<kFloats>(
          {.name = "asin",
           .wgsl = "asin_f32(x)",
           .gradient = [](Site s) -> Gradients { return {s.dy() * rsqrt(1 - s.in(0) * s.in(0))}; },
           .onnx = "Asin",
           .includes = {"functions", "inverse_trig"},
           .ulps = 8},
          [](auto x) { return std::asin(x); }),
      op<kFloats>(
          {.name = "acos",
           .wgsl = "acos_f32(x)",
           .gradient = [](Site s) -> Gradients { return {-s.dy() * rsqrt(1 - s.in(0) * s.in(0))}; },
           .onnx = "Acos",
           .includes = {"functions", "inverse_trig"},
           .ulps = 8},
          [](auto x) { return std::acos(x); }),
      op<kFloats>(
          {.name = "atan",
           .wgsl = "atan_f32(x)",
           .gradient = [](Site s) -> Gradients { return {s.dy() / (1 + s.in(0) * s.in(0))}; },
           .onnx = "Atan",
           .includes = {"functions", "inverse_trig"},
           .ulps = 8},
          [](auto x) { return std::atan(x); }),
      op<kFloats>({.name = "sinh",
                   .wgsl = "sinh_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * cosh(s.in(0))}; },
                   .onnx = "Sinh",
                   .includes = {"functions", "hyperbolic"},
                   .ulps = 12},
                  [](auto x) { return std::sinh(x); }),
      op<kFloats>({.name = "cosh",
                   .wgsl = "cosh_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * sinh(s.in(0))}; },
                   .onnx = "Cosh",
                   .includes = {"functions", "hyperbolic"},
                   .ulps = 12},
                  [](auto x) { return std::cosh(x); }),
      op<kFloats>(
          {.name = "asinh",
           .wgsl = "asinh_f32(x)",
           .gradient = [](Site s) -> Gradients { return {s.dy() * rsqrt(1 + s.in(0) * s.in(0))}; },
           .onnx = "Asinh",
           .includes = {"functions", "hyperbolic"},
           .ulps = 8},
          [](auto x) { return std::asinh(x); }),
      op<kFloats>({.name = "acosh",
                   .wgsl = "acosh_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     return {s.dy() * rsqrt((-1 + s.in(0)) * (1 + s.in(0)))};
                   },
                   .onnx = "Acosh",
                   .includes = {"functions", "hyperbolic"},
                   .ulps = 8},
                  [](auto x) { return std::acosh(x); }),
      op<kFloats>({.name = "atanh",
                   .wgsl = "atanh_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     return {s.dy() / ((1 - s.in(0)) * (1 + s.in(0)))};
                   },
                   .onnx = "Atanh",
                   .includes = {"functions", "hyperbolic"},
                   .ulps = 8},
                  [](auto x) { return std::atanh(x); }),
      op<kFloats>({.name = "atan2",
                   .wgsl = "atan2_f32(x, y)",
                   .gradient = [](Site s) -> Gradients {
                     const Value y = s.in(0), x = s.in(1), scaled = s.dy() / (x * x + y * y);
                     return {unbroadcast(scaled * x, y), unbroadcast(-scaled * y, x)};
                   },
                   .includes = {"functions", "inverse_trig"},
                   .ulps = 12},
                  [](auto y, auto x) { return std::atan2(y, x); }),
  };
}

Value sin(Value x) { return apply("sin", {x}); }
Value cos(Value x) { return apply("cos", {x}); }
Value tan(Value x) { return apply("tan", {x}); }
Value asin(Value x) { return apply("asin", {x}); }
Value acos(Value x) { return apply("acos", {x}); }
Value atan(Value x) { return apply("atan", {x}); }
Value sinh(Value x) { return apply("sinh", {x}); }
Value cosh(Value x) { return apply("cosh", {x}); }
Value asinh(Value x) { return apply("asinh", {x}); }
Value acosh(Value x) { return apply("acosh", {x}); }
Value atanh(Value x) { return apply("atanh", {x}); }
Value atan2(Value y, Value x) { return apply("atan2", {y, x}); }

}  // namespace rlx
