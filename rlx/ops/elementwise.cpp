// Ops on single elements, as one table. A row says all of its op: what it computes in C++ and in
// WGSL, and its gradient; broadcasting, dtypes and kernels are the same for all.

#include "rlx/ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

// Truncates, where a Dim's division floors: the same from 0 up.
std::optional<Dim> divide(const Dim& a, const Dim& b) {
  if (b.is(0)) return Dim(0);
  if (a.is_number() && b.is_number()) return Dim(a.number() / b.number());
  if (a.range({}).low < 0 || b.range({}).low < 1) return std::nullopt;
  return floor_div(a, b);
}

// Integers compute as unsigned ones, which wrap.
double wide(double x) { return x; }
uint64_t wide(int64_t x) { return static_cast<uint64_t>(x); }
uint64_t wide(uint64_t x) { return x; }

template <class T>
T divided(T x, T y) {
  if constexpr (std::is_same_v<T, double>)
    return x / y;
  else if (y == 0)
    return 0;
  else if (y == static_cast<T>(-1))
    return std::is_signed_v<T> ? static_cast<T>(-wide(x)) : x == y;
  else
    return x / y;
}

// A bound as an operand of the same type: toward zero, and within range.
double bound_as(double, double value) { return value; }
template <class T>
T bound_as(T, double value) {
  using Limits = std::numeric_limits<T>;
  if (!(value > static_cast<double>(Limits::min()))) return Limits::min();
  return value < static_cast<double>(Limits::max()) ? static_cast<T>(value) : Limits::max();
}

double sigmoid_of(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

constexpr double kSqrtHalf = 0.70710678118654752, kTwoOverSqrtPi = 1.1283791670955126;
constexpr double kSqrtTwoOverPi = 0.79788456080286536, kCubic = 0.044715;

Value operator*(double factor, Value x) { return scalar(x, factor) * x; }
Value operator+(double term, Value x) { return scalar(x, term) + x; }
Value operator-(double from, Value x) { return scalar(x, from) - x; }
Value if_true(Value mask, Value dy) { return where(mask, dy, scalar(dy, 0)); }
Value if_false(Value mask, Value dy) { return where(mask, scalar(dy, 0), dy); }

using Site = const GradientSite&;
Gradients flat(Site) { return {std::nullopt}; }  // almost everywhere

// ---- The table ----

std::vector<OpDef> make_table() {
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
                   .gradient = [](Site s) -> Gradients { return {0.5 * s.dy() / s.y()}; },
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
      op<kFloats>({.name = "tanh",
                   .wgsl = "tanh_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * (1 - s.y() * s.y())}; },
                   .onnx = "Tanh",
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return std::tanh(x); }),
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
      // Straight through: the gradient of what it rounds.
      op<kFloats>({.name = "round",
                   .wgsl = "round(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy()}; },
                   .onnx = "Round"},
                  [](auto x) { return std::nearbyint(x); }),
      op<kNumbers>({.name = "relu",
                    .wgsl = {"max_or_nan(x, 0.0)", "max(x, 0)", "x"},
                    .gradient = [](Site s) -> Gradients {
                      return {if_true(greater(s.in(0), scalar(s.in(0), 0)), s.dy())};
                    },
                    .onnx = "Relu",
                    .safe_i64 = true},
                   [](auto x) { return x > 0 || x != x ? x : 0; }),
      op<kFloats>({.name = "leaky_relu",
                   .wgsl = "select(alpha * x, x, x >= 0.0)",
                   .gradient = [](Site s) -> Gradients {
                     const double alpha = s.attrs().get<double>("alpha");
                     return {where(greater(s.in(0), scalar(s.in(0), 0)), s.dy(), alpha * s.dy())};
                   },
                   .onnx = "LeakyRelu",
                   .ulps = 2,
                   .params = {{"alpha", 0.01}}},
                  [](auto x, Params p) { return x >= 0 ? x : p[0] * x; }),
      op<kFloats>({.name = "elu",
                   .wgsl = "select(alpha * expm1_f32(x), x, x > 0.0)",
                   .gradient = [](Site s) -> Gradients {
                     const double alpha = s.attrs().get<double>("alpha");
                     return {where(greater(s.in(0), scalar(s.in(0), 0)), s.dy(),
                                   s.dy() * (alpha + s.y()))};
                   },
                   .onnx = "Elu",
                   .includes = {"functions"},
                   .ulps = 8,
                   .params = {{"alpha", 1.0}}},
                  [](auto x, Params p) { return x > 0 ? x : p[0] * std::expm1(x); }),
      op<kFloats>({.name = "sigmoid",
                   .wgsl = "sigmoid_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * s.y() * (1 - s.y())}; },
                   .onnx = "Sigmoid",
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return sigmoid_of(x); }),
      op<kFloats>({.name = "silu",
                   .wgsl = "x * sigmoid_f32(x)",
                   .gradient = [](Site s) -> Gradients {
                     const Value sigma = sigmoid(s.in(0));
                     return {s.dy() * sigma * (1 + s.in(0) * (1 - sigma))};
                   },
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return x * sigmoid_of(x); }),
      op<kFloats>({.name = "softplus",
                   .wgsl = "softplus_f32(x)",
                   .gradient = [](Site s) -> Gradients { return {s.dy() * sigmoid(s.in(0))}; },
                   .onnx = "Softplus",
                   .includes = {"functions"},
                   .ulps = 8},
                  [](auto x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }),
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
      op<kBools>({.name = "not", .wgsl = "!x", .onnx = "Not", .comparison = true},
                 [](auto x) { return x == 0; }),
      op<kFloats>({.name = "is_nan", .wgsl = "is_nan(x)", .onnx = "IsNaN", .comparison = true},
                  [](auto x) { return x != x; }),
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

      op<kNumbers>(
          {.name = "add",
           .wgsl = "x + y",
           .gradient = [](Site s) -> Gradients {
             return {unbroadcast(s.dy(), s.in(0)), unbroadcast(s.dy(), s.in(1))};
           },
           .onnx = "Add",
           .on_dims = [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a + b; }},
          [](auto x, auto y) { return wide(x) + wide(y); }),
      op<kNumbers>(
          {.name = "sub",
           .wgsl = "x - y",
           .gradient = [](Site s) -> Gradients {
             return {unbroadcast(s.dy(), s.in(0)), unbroadcast(-s.dy(), s.in(1))};
           },
           .onnx = "Sub",
           .on_dims = [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a - b; }},
          [](auto x, auto y) { return wide(x) - wide(y); }),
      op<kNumbers>(
          {.name = "mul",
           .wgsl = "x * y",
           .gradient = [](Site s) -> Gradients {
             const Value x = s.in(0), y = s.in(1);
             return {unbroadcast(s.dy() * y, x), unbroadcast(s.dy() * x, y)};
           },
           .onnx = "Mul",
           .on_dims = [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a * b; }},
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
      op<kNumbers>(
          {.name = "max",
           .wgsl = {"max_or_nan(x, y)", "max(x, y)", "max(x, y)"},
           .gradient = [](Site s) -> Gradients {
             const Value x = s.in(0), y = s.in(1), first = greater_equal(x, y);
             return {unbroadcast(if_true(first, s.dy()), x),
                     unbroadcast(if_false(first, s.dy()), y)};
           },
           .safe_i64 = true,
           .on_dims = [](const Dim& a, const Dim& b) -> std::optional<Dim> { return max(a, b); }},
          [](auto x, auto y) { return x >= y || x != x ? x : y; }),
      op<kNumbers>(
          {.name = "min",
           .wgsl = {"min_or_nan(x, y)", "min(x, y)", "min(x, y)"},
           .gradient = [](Site s) -> Gradients {
             const Value x = s.in(0), y = s.in(1), first = less_equal(x, y);
             return {unbroadcast(if_true(first, s.dy()), x),
                     unbroadcast(if_false(first, s.dy()), y)};
           },
           .safe_i64 = true,
           .on_dims = [](const Dim& a, const Dim& b) -> std::optional<Dim> { return min(a, b); }},
          [](auto x, auto y) { return x <= y || x != x ? x : y; }),
      op<kFloats>({.name = "pow",
                   .wgsl = "pow_f32(x, y)",
                   .gradient = [](Site s) -> Gradients {
                     const Value x = s.in(0), y = s.in(1), zero = scalar(x, 0);
                     const Value dx = if_false(equal(y, zero), s.dy() * y * pow(x, -1 + y));
                     const Value dy = if_false(equal(x, zero), s.dy() * s.y() * log(x));
                     return {unbroadcast(dx, x), unbroadcast(dy, y)};
                   },
                   .onnx = "Pow",
                   .includes = {"functions"},
                   .ulps = 256},
                  [](auto x, auto y) { return std::pow(x, y); }),
      op<kAll>({.name = "eq",
                .wgsl = {"order(x) == order(y) && !is_nan(x) && !is_nan(y)", "x == y", "x == y",
                         "x == y"},
                .onnx = "Equal",
                .comparison = true,
                .safe_i64 = true},
               [](auto x, auto y) { return x == y; }),
      op<kAll>(
          {.name = "ne",
           .wgsl = {"order(x) != order(y) || is_nan(x) || is_nan(y)", "x != y", "x != y", "x != y"},
           .comparison = true,
           .safe_i64 = true},
          [](auto x, auto y) { return x != y; }),
      op<kNumbers>({.name = "lt",
                    .wgsl = {"order(x) < order(y) && !is_nan(x) && !is_nan(y)", "x < y", "x < y"},
                    .onnx = "Less",
                    .comparison = true,
                    .safe_i64 = true},
                   [](auto x, auto y) { return x < y; }),
      op<kNumbers>(
          {.name = "le",
           .wgsl = {"order(x) <= order(y) && !is_nan(x) && !is_nan(y)", "x <= y", "x <= y"},
           .onnx = "LessOrEqual",
           .comparison = true,
           .safe_i64 = true},
          [](auto x, auto y) { return x <= y; }),
      op<kNumbers>({.name = "gt",
                    .wgsl = {"order(x) > order(y) && !is_nan(x) && !is_nan(y)", "x > y", "x > y"},
                    .onnx = "Greater",
                    .comparison = true,
                    .safe_i64 = true},
                   [](auto x, auto y) { return x > y; }),
      op<kNumbers>(
          {.name = "ge",
           .wgsl = {"order(x) >= order(y) && !is_nan(x) && !is_nan(y)", "x >= y", "x >= y"},
           .onnx = "GreaterOrEqual",
           .comparison = true,
           .safe_i64 = true},
          [](auto x, auto y) { return x >= y; }),
      op<kBools>({.name = "and", .wgsl = "x && y", .onnx = "And", .comparison = true},
                 [](auto x, auto y) { return x & y; }),
      op<kBools>({.name = "or", .wgsl = "x || y", .onnx = "Or", .comparison = true},
                 [](auto x, auto y) { return x | y; }),
      op<kBools>({.name = "xor", .wgsl = "x != y", .onnx = "Xor", .comparison = true},
                 [](auto x, auto y) { return x ^ y; }),

      op<kAll>({.name = "where",
                .wgsl = "select(z, y, x)",
                .gradient = [](Site s) -> Gradients {
                  const Value condition = s.in(0);
                  return {std::nullopt, unbroadcast(if_true(condition, s.dy()), s.in(1)),
                          unbroadcast(if_false(condition, s.dy()), s.in(2))};
                },
                .onnx = "Where",
                .safe_i64 = true},
               [](auto condition, auto x, auto y) { return condition != 0 ? x : y; }),
  };
}

const std::vector<OpDef>& table() {
  static const std::vector<OpDef> ops = make_table();
  return ops;
}

Value apply(std::string_view name, const Values& inputs, const Attrs& attrs = {}) {
  return inputs[0].apply(elementwise_op(name), inputs, attrs);
}

}  // namespace

std::span<const OpDef* const> elementwise_ops() {
  static const std::vector<const OpDef*> ops = [] {
    std::vector<const OpDef*> pointers;
    for (const OpDef& op : table()) pointers.push_back(&op);
    return pointers;
  }();
  return ops;
}

const OpDef& elementwise_op(std::string_view name) {
  for (const OpDef& op : table())
    if (op.name == name) return op;
  fail(ErrorKind::unsupported, "there is no elementwise op '", name, "'");
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
Value sin(Value x) { return apply("sin", {x}); }
Value cos(Value x) { return apply("cos", {x}); }
Value tanh(Value x) { return apply("tanh", {x}); }
Value erf(Value x) { return apply("erf", {x}); }
Value floor(Value x) { return apply("floor", {x}); }
Value ceil(Value x) { return apply("ceil", {x}); }
Value round(Value x) { return apply("round", {x}); }
Value relu(Value x) { return apply("relu", {x}); }
Value leaky_relu(Value x, double alpha) { return apply("leaky_relu", {x}, {{"alpha", alpha}}); }
Value elu(Value x, double alpha) { return apply("elu", {x}, {{"alpha", alpha}}); }
Value sigmoid(Value x) { return apply("sigmoid", {x}); }
Value silu(Value x) { return apply("silu", {x}); }
Value softplus(Value x) { return apply("softplus", {x}); }
Value gelu(Value x) { return apply("gelu", {x}); }
Value gelu_tanh(Value x) { return apply("gelu_tanh", {x}); }
Value logical_not(Value x) { return apply("not", {x}); }
Value is_nan(Value x) { return apply("is_nan", {x}); }
Value clip(Value x, double min, double max) {
  return apply("clip", {x}, {{"min", min}, {"max", max}});
}
Value operator+(Value x, Value y) { return apply("add", {x, y}); }
Value operator-(Value x, Value y) { return apply("sub", {x, y}); }
Value operator*(Value x, Value y) { return apply("mul", {x, y}); }
Value operator/(Value x, Value y) { return apply("div", {x, y}); }
Value operator-(Value x) { return neg(x); }
Value maximum(Value x, Value y) { return apply("max", {x, y}); }
Value minimum(Value x, Value y) { return apply("min", {x, y}); }
Value pow(Value x, Value y) { return apply("pow", {x, y}); }
Value equal(Value x, Value y) { return apply("eq", {x, y}); }
Value not_equal(Value x, Value y) { return apply("ne", {x, y}); }
Value less(Value x, Value y) { return apply("lt", {x, y}); }
Value less_equal(Value x, Value y) { return apply("le", {x, y}); }
Value greater(Value x, Value y) { return apply("gt", {x, y}); }
Value greater_equal(Value x, Value y) { return apply("ge", {x, y}); }
Value logical_and(Value x, Value y) { return apply("and", {x, y}); }
Value logical_or(Value x, Value y) { return apply("or", {x, y}); }
Value logical_xor(Value x, Value y) { return apply("xor", {x, y}); }
Value where(Value condition, Value x, Value y) { return apply("where", {condition, x, y}); }

Value scalar(Value like, double value) {
  const Tensor tensor = Tensor::scalar(like.dtype(), value);
  auto& nodes = like.graph->nodes;
  Node node{.op = static_op(constant_op()),
            .attrs = {{"value", tensor}},
            .types = {tensor.type()},
            .name = text("constant_", nodes.size()),
            .host_values = {std::nullopt}};
  if (is_integer(tensor.dtype())) node.host_values[0] = HostValue{{}, {Dim(tensor.integer_at(0))}};
  nodes.push_back(std::move(node));
  return {like.graph, static_cast<int>(nodes.size()) - 1};
}

Value activate(Value x, const std::string& activation) {
  static const std::vector<std::string> names = {"relu", "leaky_relu", "elu",  "sigmoid",  "silu",
                                                 "tanh", "softplus",   "gelu", "gelu_tanh"};
  if (activation.empty()) return x;
  require(std::count(names.begin(), names.end(), activation) != 0,
          "activate: there is no activation '", activation, "'; there are ", joined(names));
  return apply(activation, {x});
}

}  // namespace rlx
