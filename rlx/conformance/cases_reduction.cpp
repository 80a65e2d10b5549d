// Rows for reductions and softmax.

#include <cmath>
#include <limits>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_reduction.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

void add_reductions(Cases& cases) {
  for (const char* op : {"sum", "mean", "reduce_max", "reduce_min"}) {
    const bool extreme = std::string(op).find("reduce_") == 0;
    const auto row = [&](CaseInput x, const Ints& axes, bool keep, int64_t terms, const char* why,
                         bool gradient = false) {
      cases.push_back({.op = op,
                       .inputs = {std::move(x)},
                       .attrs = {{"axes", axes}, {"keep", keep}},
                       .why = why,
                       .terms = extreme ? 1 : terms,
                       .gradient = gradient});
    };
    row(normal(f32({3, 65})), {-1}, false, 65, "rows longer than a workgroup", true);
    row(normal(f32({5, 1031})), {1}, true, 1031, "long rows, axis kept");
    row(normal(f32({4, 3, 5})), {0, 2}, false, 20, "axes on both sides of a kept one", true);
    row(normal(f32({4, 3, 5})), {1}, true, 3, "an axis in the middle", true);
    row(normal(f32({9, 31, 17})), {0, 2}, false, 153, "large, axes on both sides");
    row(normal(f16({3, 70, 19})), {1}, false, 70, "f16, large, an axis in the middle");
    row(normal(f32({7, 9})), {}, false, 63, "all axes", true);
    row(normal(f32({63, 1027})), {0}, false, 63, "columns: a lane to each");
    row(normal(f32({257, 3})), {0}, false, 257, "few long columns");
    row(normal(f32({1500, 2})), {1}, false, 2, "many short rows");
    row(normal(f32({2, 9001})), {1}, false, 9001, "few long rows: two steps");
    row(normal(f32({20011})), {}, true, 20011, "one long row, not a whole number of chunks");
    row(normal(f32({3, 0, 2})), {1}, false, 1, "an empty axis gives the identity");
    row(normal(f32({0, 5})), {1}, false, 1, "nothing to do");
    row(normal(f32({})), {}, false, 1, "rank 0");
    row(normal(f16({9, 129})), {1}, false, 129, "halves");
    row(normal(f16({65, 6})), {0}, false, 65, "columns of halves");
    row(normal({DType::bf16, {5, 67}}), {1}, false, 67, "bf16");
    row(given(rows_with({1, kNaN, 3, kInf, -kInf, 2, kInf, 1, 2, -kInf, 5, 6, -kInf, -kInf, -kInf},
                        3)),
        {1}, false, 3, "NaN and infinities");
    const auto symbolic = [&](const Dims& shape, const Ints& axes, int64_t terms, const char* why,
                              bool gradient) {
      cases.push_back({.op = op,
                       .inputs = {normal(f32(shape))},
                       .attrs = {{"axes", axes}, {"keep", false}},
                       .why = why,
                       .terms = extreme ? 1 : terms,
                       .symbols = {{"n", 37}},
                       .gradient = gradient});
    };
    symbolic({"n", 33}, {1}, 33, "a symbolic number of rows", false);
    symbolic({3, "n"}, {1}, 37, "a symbolic row length", false);
    symbolic({"n", 3}, {0}, 37, "a symbolic column length", true);
    symbolic({"n", 3}, {}, 111, "all, one of them symbolic", false);
    if (extreme) {
      row(normal(boolean({5, 67})), {1}, false, 1, "bools");
      row(normal(boolean({67, 5})), {0}, false, 1, "columns of bools");
      row(normal(boolean({2, 9001})), {1}, false, 1, "few long rows of bools: two steps");
      row(normal(boolean({3, 0})), {1}, false, 1, "no bools at all");
    }
    if (std::string(op) == "mean") continue;
    for (const DType dtype :
         {DType::i32, DType::u32, DType::i8, DType::u8, DType::i16, DType::i64}) {
      row(normal({dtype, {6, 67}}), {1}, false, 1, "integers");
      if (dtype != DType::i64) row(normal({dtype, {3, 0}}), {1}, false, 1, "no integers at all");
    }
    row(given(Tensor::of(DType::i32, {3}, {2147483647, 1, 5})), {}, false, 1,
        "a sum of integers wraps");
  }
}

// Numbers near 1: a long product of them neither vanishes nor overflows.
CaseInput near_one(const Shape& shape, DType dtype = DType::f32) {
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, (i % 7 == 3 ? -1 : 1) * (0.97 + 0.0061 * static_cast<double>(i * 37 % 11)));
  return given(tensor);
}

struct Reduced {
  std::string op;
  bool integers;
  CaseInput (*fill)(TensorType type);  // what its rows are filled with
};

CaseInput fill_of(const Reduced& reduced, const TensorType& type) {
  if (reduced.op == "prod" && is_float(type.dtype))
    return near_one(concrete(type.shape), type.dtype);
  return reduced.fill(type);
}

void add_more_reductions(Cases& cases) {
  const Reduced all[] = {{"prod", true, normal},         {"l1", true, normal},
                         {"l2", false, normal},          {"sum_square", true, normal},
                         {"mean_square", false, normal}, {"log_sum", false, positive},
                         {"logsumexp", false, normal}};
  for (const Reduced& reduced : all) {
    const auto row = [&](CaseInput x, const Ints& axes, bool keep, int64_t terms, const char* why,
                         bool gradient = false) {
      cases.push_back({.op = reduced.op,
                       .inputs = {std::move(x)},
                       .attrs = {{"axes", axes}, {"keep", keep}},
                       .why = why,
                       .terms = terms,
                       .gradient = gradient});
    };
    const auto filled = [&](const TensorType& type) { return fill_of(reduced, type); };
    row(filled(f32({3, 65})), {-1}, false, 65, "rows longer than a workgroup", true);
    row(filled(f32({4, 3, 5})), {0, 2}, true, 20, "axes on both sides, kept", true);
    row(filled(f32({9, 31, 17})), {0, 2}, false, 153, "large, axes on both sides");
    row(filled(f32({63, 1027})), {0}, false, 63, "columns: a lane to each");
    row(filled(f32({2, 9001})), {1}, false, 9001, "few long rows: two steps");
    row(filled(f32({1500, 2})), {1}, false, 2, "many short rows");
    row(filled(f16({9, 129})), {1}, false, 129, "halves");
    row(filled({DType::bf16, {70, 7}}), {0}, false, 70, "columns of bf16");
    row(normal(f32({3, 0, 2})), {1}, false, 1, "an empty axis");
    row(normal(f32({0, 5})), {1}, false, 1, "nothing to do");
    row(filled(f32({})), {}, false, 1, "rank 0", true);
    row(given(rows_with({1, kNaN, 3, kInf, -kInf, 2, kInf, 1, 2, -kInf, 5, 6, -kInf, -kInf, -kInf},
                        3)),
        {1}, false, 3, "NaN and infinities");
    cases.push_back({.op = reduced.op,
                     .inputs = {reduced.fill(f32({"n", 3}))},
                     .attrs = {{"axes", Ints{0}}, {"keep", false}},
                     .why = "a symbolic column length",
                     .terms = 13,
                     .symbols = {{"n", 13}}});
    cases.push_back({.op = reduced.op,
                     .inputs = {reduced.fill(f32({3, "n"}))},
                     .attrs = {{"axes", Ints{1}}, {"keep", true}},
                     .why = "a symbolic row length",
                     .terms = 37,
                     .symbols = {{"n", 37}},
                     .gradient = false});
    if (!reduced.integers) continue;
    for (const DType dtype : {DType::i32, DType::u32, DType::i8, DType::u8, DType::i64})
      row(normal({dtype, {6, 67}}), {1}, false, 1, "integers");
    row(special(i32({5, 9})), {1}, false, 1, "integers at their ends wrap");
  }
  const auto given_row = [&](const char* op, const Tensor& x, int64_t terms, const char* why,
                             bool gradient) {
    cases.push_back({.op = op,
                     .inputs = {given(x)},
                     .attrs = {{"axes", Ints{1}}},
                     .why = why,
                     .terms = terms,
                     .gradient = gradient});
  };
  given_row("prod", rows_with({2, 3, 4, 0, 5, 6, 0, 7, 0, 1, -2, 0}, 3), 3,
            "one zero in a row, and two", true);
  given_row("logsumexp", rows_with({1000, 999, -1000, -kInf, -1000, -1001, 80, 90, 88.5}, 3), 3,
            "exponentials beyond the range", false);
  given_row("l2", rows_with({0, 0, 0, 3, 4, 12}, 3), 3, "a row of zeros", false);
  for (const bool any : {true, false})
    for (const Shape& shape : {Shape{5, 67}, Shape{3, 1}, Shape{130, 3}})
      cases.push_back({.op = any ? "reduce_any" : "reduce_all",
                       .inputs = {normal(boolean(Dims(shape)))},
                       .why = "of bools",
                       .gradient = false,
                       .compose = [any](const Values& in) -> Values {
                         return {any ? reduce_any(in[0], {1}) : reduce_all(in[0], {0}, true)};
                       }});
}

void add_softmax(Cases& cases, const char* op) {
  const auto row = [&](CaseInput x, int64_t axis, int64_t terms, const char* why,
                       bool gradient = false) {
    cases.push_back({.op = op,
                     .inputs = {std::move(x)},
                     .attrs = {{"axis", axis}},
                     .why = why,
                     .terms = terms,
                     .gradient = gradient});
  };
  row(normal(f32({3, 65})), -1, 65, "rows longer than a workgroup", true);
  row(normal(f32({2, 1031})), 1, 1031, "long rows");
  row(normal(f32({3, 5, 7})), 1, 5, "an axis in the middle", true);
  row(normal(f32({257, 3})), 0, 257, "columns");
  row(normal(f32({70, 1})), -1, 1, "rows of one");
  row(normal(f16({9, 63})), -1, 63, "halves");
  row(normal({DType::bf16, {3, 65}}), 0, 3, "bf16");
  row(normal(f32({0, 5})), -1, 1, "nothing to do");
  row(normal(f32({5, 0})), -1, 1, "empty rows");
  row(given(rows_with({1, kNaN, 3, kInf, 1, 2, -kInf, 1, 2, 1e30, -1e30, 5, 100, 99, -1000}, 3)),
      -1, 3, "NaN, infinities, large logits");
  row(normal(f32({1200, 9})), -1, 9, "many short rows");
  row(normal(f32({2, 64, 40})), 1, 64, "columns of a stack");
  cases.push_back({.op = op,
                   .inputs = {normal(f32({"n", 33}))},
                   .attrs = {{"axis", 0}},
                   .why = "a symbolic axis",
                   .terms = 17,
                   .symbols = {{"n", 17}},
                   .gradient = false});
}

// As exact as short ones: a running sum of so many would be off by hundreds of last places.
void add_long_rows(Cases& cases) {
  const auto row = [&](const char* op, CaseInput x, Attrs attrs, const char* why) {
    cases.push_back({.op = op,
                     .inputs = {std::move(x)},
                     .attrs = std::move(attrs),
                     .why = why,
                     .terms = 4,
                     .gradient = false});
  };
  const Attrs all{{"axes", Ints{}}, {"keep", false}}, last{{"axes", Ints{1}}, {"keep", false}};
  Tensor tenths(DType::f32, {1 << 20}), large(DType::f32, {2, 5000}), mixed(DType::f32, {70, 333});
  for (int64_t i = 0; i < tenths.count(); ++i) tenths.set(i, 0.1);
  for (int64_t i = 0; i < large.count(); ++i) large.set(i, i % 3 == 0 ? 3e38 : 2.5e38);
  for (int64_t i = 0; i < mixed.count(); ++i) mixed.set(i, i % 4 == 0 ? -3.1e38 : 3e38);
  row("sum", given(tenths), all, "10^6 equal terms");
  row("mean", given(tenths), all, "10^6 equal terms");
  row("sum", positive(f32({40, 50003})), last, "long rows, a lane to each");
  row("mean", given(large), last, "a sum beyond the range of f32, in two steps");
  row("mean", given(mixed), last, "sums beyond the range of f32, of both signs");
  row("softmax", normal(f32({1, 1000003})), {{"axis", -1}}, "a row of 10^6");
  cases.back().terms = 1;
  cases.back().slack = 0.5;
}

}  // namespace

std::vector<OpCase> reduction_cases() {
  Cases cases;
  add_reductions(cases);
  add_softmax(cases, "softmax");
  add_softmax(cases, "log_softmax");
  add_more_reductions(cases);
  add_long_rows(cases);
  return cases;
}

}  // namespace rlx
