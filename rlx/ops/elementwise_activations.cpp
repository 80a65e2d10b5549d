// Activations. Any of these can also be applied by name, with its default parameters, by the ops
// that fuse one: see activation.h.

#include <algorithm>
#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kSqrtTwoOverPi = 0.79788456080286536, kCubic = 0.044715;

double sigmoid_of(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
double softplus_of(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double unit(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }  // keeps NaN

Value is_positive(Value x) { return greater(x, scalar(x, 0)); }

}  // namespace

std::vector<OpDef> rows::activation_rows() {
  return {
      op<kNumbers>(
          {.name = "relu",
           .wgsl = {"max_or_nan(x, 0.0)", "max(x, 0)", "x"},
           .gradient = [](Site s) -> Gradients { return {if_true(is_positive(s.in(0)), s.dy())}; },
           .onnx = "Relu",
           .safe_i64 = true},
          [](auto x) { return x > 0 || x != x ? x : 0; }),
      op<kFloats>({.name = "leaky_relu",
                   .wgsl = "select(alpha * x, x, x >= 0.0)",
                   .gradient = [](Site s) -> Gradients {
                     const double alpha = s.attrs().get<double>("alpha");
                     return {where(is_positive(s.in(0)), s.dy(), alpha * s.dy())};
                   },
                   .onnx = "LeakyRelu",
                   .ulps = 2,
                   .params = {{"alpha", 0.01}}},
                  [](auto x, Params p) { return x >= 0 ? x : p[0] * x; }),
      op<kFloats>({.name = "elu",
                   .wgsl = "select(alpha * expm1_f32(x), x, x > 0.0)",
                   .gradient = [](Site s) -> Gradients {
                     const double alpha = s.attrs().get<double>("alpha");
                     return {where(is_positive(s.in(0)), s.dy(), s.dy() * (alpha + s.y()))};
                   },
                   .onnx = "Elu",
                   .includes = {"functions"},
                   .ulps = 8,
                   .params = {{"alpha", 1.0}}},
                  [](auto x, Params p) { return x > 0 ? x : p[0] * std::expm1(x); }),
      op<kFloats>({.name = "selu",
                   .wgsl = "gamma * select(alpha * expm1_f32(x), x, x > 0.0)",
                   .gradient = [](Site s) -> Gradients {
                     const double alpha = s.attrs().get<double>("alpha"),
                                  gamma = s.attrs().get<double>("gamma");
                     return {s.dy() * where(is_positive(s.in(0)), scalar(s.in(0), gamma),
                                            gamma * alpha + s.y())};
                   },
                   .onnx = "Selu",
                   .includes = {"functions"},
                   .ulps = 8,
                   .params = {{"alpha", 1.6732632423543772}, {"gamma", 1.0507009873554805}}},
                  [](auto x, Params p) { return p[1] * (x > 0 ? x : p[0] * std::expm1(x)); }),
      op<kFloats>({.name = "celu",
                   .wgsl = "select(alpha * expm1_f32(x / alpha), x, x > 0.0)",
                   .gradient = [](Site s) -> Gradients {
                     const double alpha = s.attrs().get<double>("alpha");
                     return {s.dy() * where(is_positive(s.in(0)), scalar(s.in(0), 1),
                                            1 + 1 / alpha * s.y())};
                   },
                   .onnx = "Celu",
                   .includes = {"functions"},
                   .ulps = 16,
                   .params = {{"alpha", 1.0}}},
                  [](auto x, Params p) { return x > 0 ? x : p[0] * std::expm1(x / p[0]); }),
      op<kFloats>({.name = "sigmoid",
                   .wgsl = "sigmoid_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * s.y() * (1 - s.y())}; },
                   .onnx = "Sigmoid",
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return sigmoid_of(x); }),
      op<kFloats>({.name = "hard_sigmoid",
                   .wgsl = "min_or_nan(max_or_nan(fma(alpha, x, beta), 0.0), 1.0)",
                   .gradient = [](Site s) -> Gradients {
                     const Value y = s.y();
                     const Value inside =
                         logical_and(greater(y, scalar(y, 0)), less(y, scalar(y, 1)));
                     return {if_true(inside, s.attrs().get<double>("alpha") * s.dy())};
                   },
                   .onnx = "HardSigmoid",
                   .ulps = 2,
                   .absolute_error = 0x1p-23,
                   .params = {{"alpha", 0.2}, {"beta", 0.5}}},
                  [](auto x, Params p) { return unit(p[0] * x + p[1]); }),
      op<kFloats>({.name = "silu",
                   .wgsl = "x * sigmoid_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     const Value sigma = sigmoid(s.in(0));
                     return {s.dy() * sigma * (1 + s.in(0) * (1 - sigma))};
                   },
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return x * sigmoid_of(x); }),
      op<kFloats>({.name = "hard_swish",
                   .wgsl = "x * min_or_nan(max_or_nan(fma(x, 1.0 / 6.0, 0.5), 0.0), 1.0)",
                   .gradient = [](Site s) -> Gradients {
                     const Value x = s.in(0), gate = hard_sigmoid(x, 1.0 / 6, 0.5);
                     const Value inside =
                         logical_and(greater(gate, scalar(x, 0)), less(gate, scalar(x, 1)));
                     return {s.dy() * (gate + if_true(inside, 1.0 / 6 * x))};
                   },
                   .onnx = "HardSwish",
                   .ulps = 4,
                   .absolute_error = 0x1p-21},
                  [](auto x) { return x * unit(x / 6 + 0.5); }),
      op<kFloats>({.name = "mish",
                   .wgsl = "mish_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     const Value x = s.in(0), gate = tanh(softplus(x));
                     return {s.dy() * (gate + x * sigmoid(x) * (1 - gate * gate))};
                   },
                   .onnx = "Mish",
                   .includes = {"functions"},
                   .ulps = 12},
                  [](auto x) { return x * std::tanh(softplus_of(x)); }),
      op<kFloats>({.name = "tanh",
                   .wgsl = "tanh_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * (1 - s.y() * s.y())}; },
                   .onnx = "Tanh",
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return std::tanh(x); }),
      op<kFloats>({.name = "softplus",
                   .wgsl = "softplus_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * sigmoid(s.in(0))}; },
                   .onnx = "Softplus",
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return softplus_of(x); }),
      op<kFloats>({.name = "softsign",
                   .wgsl = "x / (1.0 + abs(x))",
                   .gradient = [](Site s) -> Gradients {
                     const Value rest = 1 + abs(s.in(0));
                     return {s.dy() / (rest * rest)};
                   },
                   .onnx = "Softsign",
                   .ulps = 4},
                  [](auto x) { return x / (1 + std::fabs(x)); }),
      op<kFloats>({.name = "gelu",
                   .wgsl = "gelu_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     const Value x = s.in(0);
                     const Value below = 0.5 * (1 + erf(kSqrtHalf * x));
                     const Value density = 0.5 * kSqrtTwoOverPi * exp(-0.5 * (x * x));
                     return {s.dy() * (below + x * density)};
                   },
                   .onnx = "Gelu",
                   .includes = {"functions", "erf"},
                   .ulps = 16},
                  [](auto x) { return 0.5 * x * std::erfc(-kSqrtHalf * x); }),
      op<kFloats>(
          {.name = "gelu_tanh",
           .wgsl = "gelu_tanh_f32(x)",
           .gradient = [](Site s) -> Gradients {
             const Value x = s.in(0), square = x * x;
             const Value sigma = sigmoid(2 * kSqrtTwoOverPi * x * (1 + kCubic * square));
             const Value slope = 2 * kSqrtTwoOverPi * (1 + 3 * kCubic * square);
             return {s.dy() * sigma * (1 + x * (1 - sigma) * slope)};
           },
           .includes = {"functions", "erf"},
           .ulps = 32},
          [](auto x) { return x * sigmoid_of(2 * kSqrtTwoOverPi * (x + kCubic * x * x * x)); }),
      op<kFloats>({.name = "thresholded_relu",
                   .wgsl = "select(0.0, x, x > alpha && !is_nan(x))",
                   .gradient = [](Site s) -> Gradients {
                     const Value edge = scalar(s.in(0), s.attrs().get<double>("alpha"));
                     return {if_true(greater(s.in(0), edge), s.dy())};
                   },
                   .onnx = "ThresholdedRelu",
                   .params = {{"alpha", 1.0}}},
                  [](auto x, Params p) { return x > p[0] ? x : 0; }),
  };
}

Value relu(Value x) { return apply("relu", {x}); }
Value leaky_relu(Value x, double alpha) { return apply("leaky_relu", {x}, {{"alpha", alpha}}); }
Value prelu(Value x, Value slope) { return where(is_positive(x), x, slope * x); }
Value elu(Value x, double alpha) { return apply("elu", {x}, {{"alpha", alpha}}); }
Value selu(Value x, double alpha, double gamma) {
  return apply("selu", {x}, {{"alpha", alpha}, {"gamma", gamma}});
}
Value celu(Value x, double alpha) { return apply("celu", {x}, {{"alpha", alpha}}); }
Value sigmoid(Value x) { return apply("sigmoid", {x}); }
Value hard_sigmoid(Value x, double alpha, double beta) {
  return apply("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
}
Value silu(Value x) { return apply("silu", {x}); }
Value hard_swish(Value x) { return apply("hard_swish", {x}); }
Value mish(Value x) { return apply("mish", {x}); }
Value tanh(Value x) { return apply("tanh", {x}); }
Value softplus(Value x) { return apply("softplus", {x}); }
Value softsign(Value x) { return apply("softsign", {x}); }
Value gelu(Value x) { return apply("gelu", {x}); }
Value gelu_tanh(Value x) { return apply("gelu_tanh", {x}); }
Value thresholded_relu(Value x, double alpha) {
  return apply("thresholded_relu", {x}, {{"alpha", alpha}});
}

}  // namespace rlx
