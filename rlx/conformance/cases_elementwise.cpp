// Rows for the ops on single elements and for cast.

#include <cmath>
#include <limits>

#include "rlx/conformance/op_cases.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor line(DType dtype, const std::vector<double>& values) {
  return Tensor::of(dtype, {static_cast<int64_t>(values.size())}, values);
}

// Floats, one operand.
struct Unary {
  const char* op;
  bool positive = false;  // its domain
  bool gradient = true;   // finite differences can tell it
  Attrs attrs = {};
};

void add_float_unary(Cases& cases) {
  const Unary ops[] = {
      {"neg"},
      {"abs"},
      {"sign", false, false},
      {"exp"},
      {"log", true},
      {"log1p", true},
      {"expm1"},
      {"sqrt", true},
      {"rsqrt", true},
      {"reciprocal", true},
      {"sin"},
      {"cos"},
      {"tanh"},
      {"erf"},
      {"floor", false, false},
      {"ceil", false, false},
      {"round", false, false},
      {"relu"},
      {"leaky_relu", false, true, {{"alpha", 0.1}}},
      {"elu", false, true, {{"alpha", 0.7}}},
      {"sigmoid"},
      {"silu"},
      {"softplus"},
      {"gelu"},
      {"gelu_tanh"},
      {"is_nan", false, false},
      {"clip", false, true, {{"min", -0.5}, {"max", 0.75}}},
  };
  for (const Unary& op : ops) {
    const auto fill = op.positive ? positive : normal;
    const auto row = [&](CaseInput input, const char* why, bool gradient = false) {
      cases.push_back({.op = op.op,
                       .inputs = {std::move(input)},
                       .attrs = op.attrs,
                       .why = why,
                       .gradient = gradient});
    };
    row(fill(f32({3, 65})), "not a whole number of workgroups", op.gradient);
    row(fill(f16({257})), "an odd number of halves, which are packed");
    row(fill({DType::bf16, {63}}), "bf16 is packed everywhere");
    row(special(f32({1031})), "NaN, infinities and the ends of the range");
    row(special(f16({129})), "the ends of f16");
    row(fill(f32({0, 3})), "nothing to do");
    row(fill(f32({})), "rank 0", op.gradient);
    cases.push_back({.op = op.op,
                     .inputs = {fill(f32({"n", 3}))},
                     .attrs = op.attrs,
                     .why = "a symbolic extent",
                     .symbols = {{"n", 23}},
                     .gradient = false});
  }
}

// Values where a formula goes wrong first.
void add_hard_values(Cases& cases) {
  const auto row = [&](const char* op, const std::vector<double>& values, const char* why) {
    cases.push_back(
        {.op = op, .inputs = {given(line(DType::f32, values))}, .why = why, .gradient = false});
  };
  row("log", {0, -1, 1, 0.99999994, 1.0000001, 1e-38, 3e38, kInf}, "near 1, and the ends");
  row("sqrt", {-1, 0, 2, 2e-38, 3e38, kInf}, "a negative number has no root");
  row("exp", {1000, -1000, 88.7, 88.73, -87.3, 1e-8, -1e-8}, "about to overflow");
  row("log1p", {1e-8, -1e-8, 1e-4, -0.5, -1, -2, 1e30, 0.28, 0.3, -0.3},
      "tiny numbers keep their digits");
  row("expm1", {1e-8, -1e-8, 1e-4, -0.5, 0.5, 0.49, -0.49, -50, 88.7, 100},
      "tiny numbers keep their digits");
  row("tanh", {1e-8, -1e-4, 0.2, 9, -9.2, 100, -1000}, "tiny and saturated");
  row("erf", {1e-8, 0.5, -0.99, 1.01, 2, -3.9, 4.1, kInf, -kInf}, "on both sides of its pieces");
  row("sin", {1e-8, 3.1415927, 6.2831855, 100, -1000, 8191, 8193, 1e5, -12345678, 1e15, 3e38},
      "large angles");
  row("cos", {1e-8, 1.5707964, 4.712389, 100, -1000, 8191, 8193, 1e5, -12345678, 1e15, 3e38},
      "large angles");
  row("sigmoid", {-80, 80, -1000, 1000, 1e-8}, "saturated");
  row("softplus", {-80, 80, -1000, 1000, 1e-8}, "saturated");
  row("gelu", {-5, -8, -12, 5, 30, 1e-8}, "the tail below 0 keeps its digits");
  row("gelu_tanh", {-5, -8, 5, 30, 1e-8, 1e30, -1e30}, "the cube overflows");
  row("round", {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 8388607.5, 1e30}, "halves go to even");
  row("sign", {kNaN, -0.0, 0, 1e-40, -1e-40, kInf}, "a subnormal has a sign");
}

void add_integer_unary(Cases& cases) {
  for (const DType dtype : {DType::i32, DType::i8, DType::i16, DType::u8, DType::u32, DType::i64}) {
    for (const char* op : {"neg", "abs", "sign", "relu"})
      cases.push_back({.op = op, .inputs = {normal({dtype, {67}})}, .why = "an integer type"});
    cases.push_back({.op = "clip",
                     .inputs = {normal({dtype, {67}})},
                     .attrs = {{"min", 2.0}, {"max", kInf}},
                     .why = "an integer type, one end open"});
  }
  cases.push_back({.op = "abs",
                   .inputs = {given(line(DType::i32, {-2147483648.0, 2147483647}))},
                   .why = "wraps"});
  cases.push_back({.op = "clip",
                   .inputs = {given(line(DType::i32, {-2147483648.0, 16777217, 16777219}))},
                   .attrs = {{"min", -kInf}, {"max", 16777218.0}},
                   .why = "a bound that no f32 holds"});
}

void add_binary(Cases& cases) {
  struct Binary {
    const char* op;
    bool positive = false, gradient = true;
  };
  const Binary floats[] = {{"add"},
                           {"sub"},
                           {"mul"},
                           {"div", true},
                           {"max"},
                           {"min"},
                           {"pow", true},
                           {"eq", false, false},
                           {"ne", false, false},
                           {"lt", false, false},
                           {"le", false, false},
                           {"gt", false, false},
                           {"ge", false, false}};
  for (const Binary& op : floats) {
    const auto fill = op.positive ? positive : normal;
    const auto row = [&](CaseInput x, CaseInput y, const char* why, bool gradient = false) {
      cases.push_back(
          {.op = op.op, .inputs = {std::move(x), std::move(y)}, .why = why, .gradient = gradient});
    };
    row(fill(f32({3, 65})), fill(f32({3, 65})), "equal shapes", op.gradient);
    row(fill(f32({5, 1, 7})), fill(f32({3, 1})), "both are repeated", op.gradient);
    row(fill(f32({})), fill(f32({2, 3})), "rank 0 against rank 2", op.gradient);
    row(fill(f16({9, 29})), fill(f16({29})), "halves, a row repeated");
    row(fill({DType::bf16, {63}}), fill({DType::bf16, {63}}), "bf16");
    row(special(f32({257})), special(f32({257})), "NaN against anything");
    row(special(f32({63, 1})), special(f32({65})), "every special value against every other");
    row(fill(f32({0, 3})), fill(f32({3})), "nothing to do");
    cases.push_back({.op = op.op,
                     .inputs = {fill(f32({"n", 3})), fill(f32({"n", 1}))},
                     .why = "a symbolic extent",
                     .symbols = {{"n", 21}},
                     .gradient = false});
  }
  const char* const integers[] = {"add", "sub", "mul", "div", "max", "min",
                                  "eq",  "ne",  "lt",  "le",  "gt",  "ge"};
  for (const DType dtype : {DType::i32, DType::u32, DType::i8, DType::u16, DType::i64})
    for (const char* op : integers)
      cases.push_back({.op = op,
                       .inputs = {normal({dtype, {5, 13}}), normal({dtype, {13}})},
                       .why = "integers, zeros among the divisors"});
  const Tensor ends = line(DType::i32, {-2147483648.0, 2147483647, -7, 7, 5, -2147483648.0});
  const Tensor others = line(DType::i32, {-1, 2147483647, 2, -2, 0, 0});
  for (const char* op : {"add", "sub", "mul", "div"})
    cases.push_back(
        {.op = op, .inputs = {given(ends), given(others)}, .why = "wraps; truncates; x / 0 is 0"});
  const Tensor bytes = line(DType::u8, {250, 3, 255, 16}), more = line(DType::u8, {10, 5, 255, 16});
  for (const char* op : {"add", "sub", "mul", "div"})
    cases.push_back({.op = op, .inputs = {given(bytes), given(more)}, .why = "wraps to 8 bits"});
  const Tensor bases =
      line(DType::f32, {-2, -2, 0, 0, -0.0, 2, 1, -1, kInf, -kInf, 0.5, -3, 1.0000001, 1e-30});
  const Tensor exponents =
      line(DType::f32, {3, 0.5, 0, -1, -3, 100.5, kNaN, kInf, -2, 3, kInf, 35, 1e8, 2.5});
  cases.push_back({.op = "pow",
                   .inputs = {given(bases), given(exponents)},
                   .why = "signs, zeros, infinities",
                   .gradient = false});
}

void add_logic(Cases& cases) {
  for (const char* op : {"and", "or", "xor", "eq", "ne"}) {
    cases.push_back(
        {.op = op, .inputs = {normal(boolean({5, 13})), normal(boolean({5, 13}))}, .why = "bools"});
    cases.push_back({.op = op,
                     .inputs = {normal(boolean({65, 1})), normal(boolean({3}))},
                     .why = "both are repeated"});
    cases.push_back(
        {.op = op, .inputs = {normal(boolean({0})), normal(boolean({0}))}, .why = "nothing to do"});
    cases.push_back({.op = op,
                     .inputs = {normal(boolean({"n"})), normal(boolean({}))},
                     .why = "a symbolic extent",
                     .symbols = {{"n", 67}}});
  }
  cases.push_back({.op = "not", .inputs = {normal(boolean({65}))}, .why = "bools"});
  cases.push_back({.op = "not", .inputs = {normal(boolean({}))}, .why = "rank 0"});
  cases.push_back({.op = "not", .inputs = {normal(boolean({2, 0}))}, .why = "nothing to do"});
  cases.push_back({.op = "not",
                   .inputs = {normal(boolean({"n", 2}))},
                   .why = "a symbolic extent",
                   .symbols = {{"n", 9}}});

  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i64, DType::boolean})
    cases.push_back(
        {.op = "where",
         .inputs = {normal(boolean({7, 1})), normal({dtype, {7, 11}}), normal({dtype, {11}})},
         .why = "every class of dtypes, all repeated"});
  cases.push_back({.op = "where",
                   .inputs = {normal(boolean({257})), special(f32({257})), special(f32({257}))},
                   .why = "NaN is only passed on",
                   .gradient = false});
  cases.push_back({.op = "where",
                   .inputs = {normal(boolean({"n"})), normal(f32({"n"})), normal(f32({}))},
                   .why = "a symbolic extent",
                   .symbols = {{"n", 5}},
                   .gradient = false});
  cases.push_back({.op = "where",
                   .inputs = {normal(boolean({0, 2})), normal(f32({2})), normal(f32({}))},
                   .why = "nothing to do"});
}

void add_cast(Cases& cases) {
  // No gradients: what is rounded to f32 has no differences to take.
  const auto row = [&](CaseInput x, DType to, const std::string& why) {
    cases.push_back({.op = "cast",
                     .inputs = {std::move(x)},
                     .attrs = {{"to", to}},
                     .why = why,
                     .gradient = false});
  };
  for (const DType from : all_dtypes()) {
    for (const DType to : all_dtypes()) {
      if (from == DType::c64 || to == DType::c64) continue;
      // A device has no 64-bit integer for a negative number that wraps.
      const bool fits = to != DType::u64 || !is_signed_integer(from);
      row(fits ? normal({from, {67}}) : positive({from, {67}}), to, "every dtype to every other");
    }
  }
  for (const DType to : {DType::f16, DType::bf16, DType::i32, DType::u32, DType::i8, DType::u8,
                         DType::i16, DType::boolean, DType::f64})
    row(special(f32({257})), to, "NaN becomes 0 or stays, what does not fit saturates");
  for (const DType to : {DType::f32, DType::bf16, DType::i32, DType::u8, DType::boolean})
    row(special(f16({129})), to, "the specials of f16");
  const Tensor halves = line(DType::f32, {1 + 0x1p-11, 1 + 3 * 0x1p-11, -(1 + 0x1p-11),
                                          1 + 0x1.002p-11, 65519, 65520, 65504, -70000, 1e10, 2049,
                                          2051, 0x1p-24, 0x1p-14, 0x1.8p-24, 0x1p-25, 0x1.004p-25});
  row(given(halves), DType::f16,
      "halfway between two halves goes to even, beyond the last to infinity");
  row(given(halves), DType::bf16, "halfway goes to even");
  const Tensor large = line(DType::i32, {16777217, 16777219, 2147483647, -2147483647, 33554435});
  row(given(large), DType::f32, "more digits than f32 has");
  row(given(line(DType::u32, {4294967295.0, 16777217, 2147483648.0})), DType::f32,
      "more digits than f32 has");
  row(given(line(DType::i32, {-1, 300, 65537, -129, 127})), DType::i8, "wraps");
  row(given(line(DType::i32, {-1, 300, 65537, -129, 127})), DType::u16, "wraps");
  row(normal(f32({0, 5})), DType::i32, "nothing to do");
  row(normal(f32({})), DType::f16, "one half, alone in its word");
  cases.push_back({.op = "cast",
                   .inputs = {normal(f32({"n", 3}))},
                   .attrs = {{"to", DType::i8}},
                   .why = "a symbolic extent, packed",
                   .symbols = {{"n", 7}}});
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  Cases cases;
  add_float_unary(cases);
  add_hard_values(cases);
  add_integer_unary(cases);
  add_binary(cases);
  add_logic(cases);
  add_cast(cases);
  return cases;
}

}  // namespace rlx
