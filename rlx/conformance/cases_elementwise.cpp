// Rows for the ops on single elements and for cast.

#include <cmath>
#include <limits>

#include "rlx/conformance/unary_cases.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

Tensor line(DType dtype, const std::vector<double>& values) {
  return Tensor::of(dtype, {static_cast<int64_t>(values.size())}, values);
}

void add_float_unary(Cases& cases) {
  const UnaryCase ops[] = {
      {"neg"},
      {"abs"},
      {"sign", Domain::all, false},
      {"exp"},
      {"log", Domain::positive},
      {"log1p", Domain::positive},
      {"expm1"},
      {"sqrt", Domain::positive},
      {"rsqrt", Domain::positive},
      {"reciprocal", Domain::positive},
      {"sin"},
      {"cos"},
      {"tan", Domain::unit},
      {"asin", Domain::unit},
      {"acos", Domain::unit},
      {"atan"},
      {"sinh"},
      {"cosh"},
      {"asinh"},
      {"acosh", Domain::above_one},
      {"atanh", Domain::unit},
      {"erf"},
      {"floor", Domain::all, false},
      {"ceil", Domain::all, false},
      {"round", Domain::all, false},
      {"is_nan", Domain::all, false},
      {"is_inf", Domain::all, false, {{"detect_positive", 1.0}, {"detect_negative", 0.0}}},
      {"clip", Domain::all, true, {{"min", -0.5}, {"max", 0.75}}},
      {"stop_gradient", Domain::all, false},
  };
  for (const UnaryCase& op : ops) add_unary_rows(op, cases);
}

// Values where a formula goes wrong first.
void add_hard_values(Cases& cases) {
  const auto row = [&](const char* op, const std::vector<double>& values, const char* why) {
    cases.push_back(
        {.op = op, .inputs = {given(line(DType::f32, values))}, .why = why, .gradient = false});
  };
  row("log", {0, -1, 1, 0.99999994, 1.0000001, 2e-38, 3e38, kInf}, "near 1, and the ends");
  row("sqrt", {-1, 0, 2, 2e-38, 3e38, kInf}, "a negative number has no root");
  row("exp", {1000, -1000, 88.7, 88.73, -87.3, 1e-8, -1e-8}, "about to overflow");
  row("log1p", {1e-8, -1e-8, 1e-4, -0.5, -1, -2, 1e30, 0.28, 0.3, -0.3},
      "tiny numbers keep their digits");
  row("expm1", {1e-8, -1e-8, 1e-4, -0.5, 0.5, 0.49, -0.49, -50, 88.7, 100},
      "tiny numbers keep their digits");
  row("erf", {1e-8, 0.5, -0.99, 1.01, 2, -3.9, 4.1, kInf, -kInf}, "on both sides of its pieces");
  row("sin", {1e-8, 3.1415927, 6.2831855, 100, -1000, 8191, 8193, 1e5, -12345678, 1e15, 3e38},
      "large angles");
  row("cos", {1e-8, 1.5707964, 4.712389, 100, -1000, 8191, 8193, 1e5, -12345678, 1e15, 3e38},
      "large angles");
  row("tan", {1e-8, 0.7853982, 1.5707964, -1.5707963, 3.1415927, 100, 8193, 1e5, 1e15, 3e38},
      "near its poles, and large angles");
  row("asin", {1e-8, 0.5, -0.50001, 0.9999999, -1, 1, 1.0000001, -2, -0.0},
      "the ends of its domain");
  row("acos", {1e-8, 0.5, -0.50001, 0.9999999, -1, 1, 1.0000001, -2, -0.99},
      "the ends of its domain");
  row("atan", {1e-8, 0.4142, 0.41422, 2.4142, -2.4143, 1e30, kInf, -kInf},
      "on both sides of its pieces");
  row("sinh", {1e-8, -0.3, 0.5, 8.99, -9.01, 88.8, 89.4, 90, -100, kInf},
      "tiny, and about to overflow");
  row("cosh", {1e-8, -0.3, 0.5, 8.99, -9.01, 88.8, 89.4, 90, -100, kInf}, "about to overflow");
  row("asinh", {1e-8, -1e-3, 0.3, -7, 1e7, 1e9, -3e38, kInf, -kInf}, "tiny and large");
  row("acosh", {1, 1.0000001, 1.01, 2, 1e9, 3e38, kInf, 0.99, -2}, "the end of its domain");
  row("atanh", {1e-8, -1e-3, 0.2, 0.9999999, 1, -1, 1.0000001, -2}, "the ends of its domain");
  row("is_inf", {kInf, -kInf, kNaN, 0, 3e38}, "both signs count");
  row("round", {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 8388607.5, 1e30}, "halves go to even");
  row("sign", {kNaN, -0.0, 0, 1e-40, -1e-40, kInf}, "a subnormal has a sign");
}

void add_integer_unary(Cases& cases) {
  for (const DType dtype : {DType::i32, DType::i8, DType::i16, DType::u8, DType::u32, DType::i64}) {
    for (const char* op : {"neg", "abs", "sign"})
      cases.push_back({.op = op, .inputs = {normal({dtype, {67}})}, .why = "an integer type"});
    cases.push_back({.op = "clip",
                     .inputs = {normal({dtype, {67}})},
                     .attrs = {{"min", 2.0}, {"max", kInf}},
                     .why = "an integer type, one end open"});
  }
  cases.push_back({.op = "stop_gradient", .inputs = {normal(i32({5}))}, .why = "an integer type"});
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
                           {"mod", true},
                           {"fmod", true},
                           {"atan2"},
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
  const char* const integers[] = {"add",  "sub", "mul", "div", "max", "min", "pow", "mod",
                                  "fmod", "eq",  "ne",  "lt",  "le",  "gt",  "ge"};
  for (const DType dtype : {DType::i32, DType::u32, DType::i8, DType::u16, DType::i64})
    for (const char* op : integers)
      cases.push_back({.op = op,
                       .inputs = {normal({dtype, {5, 13}}), normal({dtype, {13}})},
                       .why = "integers, zeros among the divisors"});
  const Tensor ends = line(DType::i32, {-2147483648.0, 2147483647, -7, 7, 5, -2147483648.0});
  const Tensor others = line(DType::i32, {-1, 2147483647, 2, -2, 0, 0});
  for (const char* op : {"add", "sub", "mul", "div", "mod", "fmod", "pow"})
    cases.push_back(
        {.op = op, .inputs = {given(ends), given(others)}, .why = "wraps; truncates; x / 0 is 0"});
  const Tensor bytes = line(DType::u8, {250, 3, 255, 16}), more = line(DType::u8, {10, 5, 255, 16});
  for (const char* op : {"add", "sub", "mul", "div", "mod", "fmod", "pow"})
    cases.push_back({.op = op, .inputs = {given(bytes), given(more)}, .why = "wraps to 8 bits"});
  const Tensor bases =
      line(DType::f32, {-2, -2, 0, 0, -0.0, 2, 1, -1, kInf, -kInf, 0.5, -3, 1.0000001, 1e-30});
  const Tensor exponents =
      line(DType::f32, {3, 0.5, 0, -1, -3, 100.5, kNaN, kInf, -2, 3, kInf, 35, 1e8, 2.5});
  cases.push_back({.op = "pow",
                   .inputs = {given(bases), given(exponents)},
                   .why = "signs, zeros, infinities",
                   .gradient = false});
  const Tensor dividends = line(
      DType::f32, {5.5, -5.5, 5.5, -5.5, 1e30, -1e30, 3e38, 1, 0, -0.0, 7, 1e-30, 16777217, 6});
  const Tensor divisors =
      line(DType::f32, {2, 2, -2, -2, 0.3, 0.7, 1.1e-30, kInf, 3, 3, 0, 3e-38, 0.1, 3});
  for (const char* op : {"mod", "fmod"})
    cases.push_back({.op = op,
                     .inputs = {given(dividends), given(divisors)},
                     .why = "signs, and quotients that no float holds",
                     .gradient = false});
  const Tensor ys =
      line(DType::f32, {0, -0.0, 0, -0.0, 1, -1, 1e-30, 3e38, kInf, -kInf, kInf, 1, 2e-38});
  const Tensor xs =
      line(DType::f32, {1, 1, -1, -1, 0, 0, -1e-30, 3e38, 1, -kInf, kInf, -kInf, 3e38});
  cases.push_back({.op = "atan2",
                   .inputs = {given(ys), given(xs)},
                   .why = "all quadrants, zeros and infinities",
                   .gradient = false});
}

void add_bits(Cases& cases) {
  const char* const ops[] = {"bitwise_and", "bitwise_or", "bitwise_xor", "shift_right"};
  for (const DType dtype :
       {DType::i32, DType::u32, DType::i8, DType::u16, DType::i64, DType::u64}) {
    for (const char* op : ops)
      cases.push_back({.op = op,
                       .inputs = {special({dtype, {5, 13}}), index({dtype, {13}}, 9)},
                       .why = "every class of integers, a row repeated"});
    // A device has 32 bits for 64: the results are to fit them.
    const bool wide = bytes_of(dtype) == 8;
    cases.push_back({.op = "shift_left",
                     .inputs = {wide ? normal({dtype, {5, 13}}) : special({dtype, {5, 13}}),
                                index({dtype, {13}}, 9)},
                     .why = "every class of integers, a row repeated"});
    if (dtype != DType::u64)
      cases.push_back(
          {.op = "bitwise_not", .inputs = {special({dtype, {67}})}, .why = "an integer type"});
  }
  for (const char* op : {"shift_left", "shift_right"})
    cases.push_back({.op = op,
                     .inputs = {given(line(DType::i32, {1, -8, -8, 5, -1, 2147483647})),
                                given(line(DType::i32, {31, 1, 32, 33, 100, 0}))},
                     .why = "as many bits as there are, and more"});
  for (const char* op : ops)
    cases.push_back({.op = op,
                     .inputs = {normal(i32({"n"})), index(i32({}), 5)},
                     .why = "a symbolic extent",
                     .symbols = {{"n", 67}}});
  cases.push_back({.op = "shift_left",
                   .inputs = {normal(i32({"n"})), index(i32({}), 5)},
                   .why = "a symbolic extent",
                   .symbols = {{"n", 67}}});
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
  add_bits(cases);
  add_logic(cases);
  add_cast(cases);
  return cases;
}

}  // namespace rlx
