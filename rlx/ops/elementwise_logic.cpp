// Comparisons, logic of bools, bits of integers, and the choice between two values.

#include <algorithm>
#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_logic.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

template <class T>
T shifted_left(T x, T y) {
  return wide(y) < 64 ? static_cast<T>(wide(x) << wide(y)) : 0;
}
// Signed integers are filled with their sign.
template <class T>
T shifted_right(T x, T y) {
  return x >> std::min<uint64_t>(wide(y), 63) >> (std::is_unsigned_v<T> && wide(y) > 63 ? 1 : 0);
}

// Of expressions: what their difference always is decides.
template <class Holds>
std::optional<Dim> compared(const Dim* x, Holds holds) {
  const Interval difference = range_of(x[0] - x[1]);
  const bool low = holds(difference.low), high = holds(difference.high);
  // Between the ends it may be 0, which alone can differ from both.
  const bool crosses = difference.low < 0 && difference.high > 0;
  if (low != high || (crosses && holds(0) != low)) return std::nullopt;
  return Dim(low ? 1 : 0);
}
std::optional<Dim> always_equal(const Dim* x) {
  return compared(x, [](int64_t d) { return d == 0; });
}
std::optional<Dim> always_less(const Dim* x) {
  return compared(x, [](int64_t d) { return d < 0; });
}
std::optional<Dim> never(const std::optional<Dim>& value) {
  return value ? std::optional(Dim(1) - *value) : std::nullopt;
}
std::optional<Dim> always_greater(const Dim* x) {
  const Dim swapped[] = {x[1], x[0]};
  return always_less(swapped);
}

}  // namespace

std::vector<OpDef> rows::logic_rows() {
  return {
      op<kAll>({.name = "eq",
                .wgsl = {"order(x) == order(y) && !is_nan(x) && !is_nan(y)", "x == y", "x == y",
                         "x == y"},
                .onnx = "Equal",
                .comparison = true,
                .safe_i64 = true,
                .on_dims = always_equal},
               [](auto x, auto y) { return x == y; }),
      op<kAll>(
          {.name = "ne",
           .wgsl = {"order(x) != order(y) || is_nan(x) || is_nan(y)", "x != y", "x != y", "x != y"},
           .comparison = true,
           .safe_i64 = true,
           .on_dims = [](const Dim* x) { return never(always_equal(x)); }},
          [](auto x, auto y) { return x != y; }),
      op<kNumbers>({.name = "lt",
                    .wgsl = {"order(x) < order(y) && !is_nan(x) && !is_nan(y)", "x < y", "x < y"},
                    .onnx = "Less",
                    .comparison = true,
                    .safe_i64 = true,
                    .on_dims = always_less},
                   [](auto x, auto y) { return x < y; }),
      op<kNumbers>(
          {.name = "le",
           .wgsl = {"order(x) <= order(y) && !is_nan(x) && !is_nan(y)", "x <= y", "x <= y"},
           .onnx = "LessOrEqual",
           .comparison = true,
           .safe_i64 = true,
           .on_dims = [](const Dim* x) { return never(always_greater(x)); }},
          [](auto x, auto y) { return x <= y; }),
      op<kNumbers>({.name = "gt",
                    .wgsl = {"order(x) > order(y) && !is_nan(x) && !is_nan(y)", "x > y", "x > y"},
                    .onnx = "Greater",
                    .comparison = true,
                    .safe_i64 = true,
                    .on_dims = always_greater},
                   [](auto x, auto y) { return x > y; }),
      op<kNumbers>(
          {.name = "ge",
           .wgsl = {"order(x) >= order(y) && !is_nan(x) && !is_nan(y)", "x >= y", "x >= y"},
           .onnx = "GreaterOrEqual",
           .comparison = true,
           .safe_i64 = true,
           .on_dims = [](const Dim* x) { return never(always_less(x)); }},
          [](auto x, auto y) { return x >= y; }),
      op<kFloats>({.name = "is_nan", .wgsl = "is_nan(x)", .onnx = "IsNaN", .comparison = true},
                  [](auto x) { return x != x; }),
      op<kFloats>(
          {.name = "is_inf",
           .wgsl =
               "is_inf(x) && select(detect_positive, detect_negative, bitcast<u32>(x) >= 0x80000000u) != 0.0",
           .onnx = "IsInf",
           .params = {{"detect_positive", 1.0}, {"detect_negative", 1.0}},
           .comparison = true},
          [](auto x, Params p) { return std::isinf(x) && p[x < 0 ? 1 : 0] != 0; }),
      op<kBools>({.name = "not",
                  .wgsl = "!x",
                  .onnx = "Not",
                  .comparison = true,
                  .on_dims = [](const Dim* x) { return never(x[0]); }},
                 [](auto x) { return x == 0; }),
      op<kBools>({.name = "and",
                  .wgsl = "x && y",
                  .onnx = "And",
                  .comparison = true,
                  .on_dims = [](const Dim* x) -> std::optional<Dim> { return x[0] * x[1]; }},
                 [](auto x, auto y) { return x & y; }),
      op<kBools>({.name = "or",
                  .wgsl = "x || y",
                  .onnx = "Or",
                  .comparison = true,
                  .on_dims = [](const Dim* x) -> std::optional<Dim> { return max(x[0], x[1]); }},
                 [](auto x, auto y) { return x | y; }),
      op<kBools>({.name = "xor", .wgsl = "x != y", .onnx = "Xor", .comparison = true},
                 [](auto x, auto y) { return x ^ y; }),
      op<kIntegers>(
          {
              .name = "bitwise_not",
              .wgsl = "~x",
              .onnx = "BitwiseNot",
          },
          [](auto x) { return ~x; }),
      op<kIntegers>(
          {.name = "bitwise_and", .wgsl = "x & y", .onnx = "BitwiseAnd", .safe_i64 = true},
          [](auto x, auto y) { return x & y; }),
      op<kIntegers>({.name = "bitwise_or", .wgsl = "x | y", .onnx = "BitwiseOr", .safe_i64 = true},
                    [](auto x, auto y) { return x | y; }),
      op<kIntegers>(
          {.name = "bitwise_xor", .wgsl = "x ^ y", .onnx = "BitwiseXor", .safe_i64 = true},
          [](auto x, auto y) { return x ^ y; }),
      // A shift by as many bits as there are, or more, leaves none of them.
      op<kIntegers>(
          {
              .name = "shift_left",
              .wgsl = {"", "shift_left_i32(x, y)", "shift_left_u32(x, y)"},
              .onnx = "BitShift",
              .includes = {"integers"},
          },
          [](auto x, auto y) { return shifted_left(x, y); }),
      op<kIntegers>({.name = "shift_right",
                     .wgsl = {"", "shift_right_i32(x, y)", "shift_right_u32(x, y)"},
                     .onnx = "BitShift",
                     .includes = {"integers"},
                     .safe_i64 = true},
                    [](auto x, auto y) { return shifted_right(x, y); }),
      op<kAll>({.name = "where",
                .wgsl = "select(z, y, x)",
                .gradient = [](Site s) -> Gradients {
                  const Value condition = s.in(0);
                  return {std::nullopt, unbroadcast(if_true(condition, s.dy()), s.in(1)),
                          unbroadcast(if_false(condition, s.dy()), s.in(2))};
                },
                .onnx = "Where",
                .safe_i64 = true,
                .on_dims = [](const Dim* x) -> std::optional<Dim> {
                  if (!x[0].is_number()) return std::nullopt;
                  return x[0].is(0) ? x[2] : x[1];
                }},
               [](auto condition, auto x, auto y) { return condition != 0 ? x : y; }),
  };
}

Value equal(Value x, Value y) { return apply("eq", {x, y}); }
Value not_equal(Value x, Value y) { return apply("ne", {x, y}); }
Value less(Value x, Value y) { return apply("lt", {x, y}); }
Value less_equal(Value x, Value y) { return apply("le", {x, y}); }
Value greater(Value x, Value y) { return apply("gt", {x, y}); }
Value greater_equal(Value x, Value y) { return apply("ge", {x, y}); }
Value is_nan(Value x) { return apply("is_nan", {x}); }
Value is_inf(Value x, bool positive, bool negative) {
  return apply(
      "is_inf", {x},
      {{"detect_positive", positive ? 1.0 : 0.0}, {"detect_negative", negative ? 1.0 : 0.0}});
}
Value logical_not(Value x) { return apply("not", {x}); }
Value logical_and(Value x, Value y) { return apply("and", {x, y}); }
Value logical_or(Value x, Value y) { return apply("or", {x, y}); }
Value logical_xor(Value x, Value y) { return apply("xor", {x, y}); }
Value bitwise_not(Value x) { return apply("bitwise_not", {x}); }
Value bitwise_and(Value x, Value y) { return apply("bitwise_and", {x, y}); }
Value bitwise_or(Value x, Value y) { return apply("bitwise_or", {x, y}); }
Value bitwise_xor(Value x, Value y) { return apply("bitwise_xor", {x, y}); }
Value shift_left(Value x, Value bits) { return apply("shift_left", {x, bits}); }
Value shift_right(Value x, Value bits) { return apply("shift_right", {x, bits}); }
Value where(Value condition, Value x, Value y) { return apply("where", {condition, x, y}); }

}  // namespace rlx
