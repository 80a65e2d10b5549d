// Rows for search and scans: argmax, argmin, argsort, cumsum, cumprod, unique, non_zero.

#include <limits>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/ops_sort.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

void add_arg_extremes(Cases& cases) {
  for (const char* op : {"argmax", "argmin"}) {
    const auto row = [&](CaseInput x, int64_t axis, const char* why, bool keep = false,
                         bool last = false, SymbolValues symbols = {}) {
      cases.push_back({.op = op,
                       .inputs = {std::move(x)},
                       .attrs = {{"axis", axis}, {"keep", keep}, {"select_last", last}},
                       .why = why,
                       .symbols = std::move(symbols)});
    };
    row(normal(f32({3, 65})), -1, "rows longer than a workgroup");
    row(normal(f32({4, 3, 5})), 1, "an axis in the middle, kept", true);
    row(normal(f32({2, 9001})), 1, "few long rows: two steps");
    row(normal(i32({2, 9001})), 1, "the first of many equals in a long row");
    row(normal(i32({2, 9001})), 1, "the last of many equals in a long row", false, true);
    row(normal(f32({1500, 3})), 1, "many short rows");
    row(normal(f32({63, 1027})), 0, "columns");
    row(normal(f32({9001, 2})), 0, "few long columns");
    row(normal(f32({70, 1})), -1, "rows of one");
    row(normal(f32({0, 5})), 1, "nothing to do");
    row(normal(f16({9, 129})), 1, "halves");
    row(normal({DType::bf16, {5, 67}}), 0, "columns of bf16");
    row(special(f32({9, 31})), 1, "NaN, infinities, zeros of both signs");
    row(given(Tensor::of(DType::f32, {4, 3},
                         {0.0, -0.0, 0.0, 1, kNaN, kNaN, kInf, -kInf, kInf, -kInf, -kInf, -kInf})),
        1, "equals", false, true);
    for (const DType dtype : {DType::i32, DType::u32, DType::i8, DType::u8, DType::i16, DType::i64,
                              DType::u64, DType::boolean})
      row(normal({dtype, {6, 67}}), 1, "the first of equals");
    row(special(i32({5, 9})), 1, "integers at their ends");
    row(special({DType::u32, {5, 9}}), 1, "unsigned integers at their ends");
    row(normal(f32({"n", 33})), 1, "a symbolic number of rows", false, false, {{"n", 7}});
    row(normal(f32({3, "n"})), 1, "a symbolic row length", false, false, {{"n", 70}});
  }
}

void add_scans(Cases& cases) {
  for (const char* op : {"cumsum", "cumprod"}) {
    const bool product = std::string(op) == "cumprod";
    // Products of numbers near 1 stay in range.
    const auto filled = [&](const TensorType& type) {
      if (!product || !is_float(type.dtype)) return normal(type);
      Tensor tensor(type.dtype, concrete(type.shape));
      for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.set(i, (i % 5 == 3 ? -1 : 1) * (0.97 + 0.0061 * static_cast<double>(i * 37 % 11)));
      return given(tensor);
    };
    const auto row = [&](CaseInput x, int64_t axis, bool exclusive, bool reverse, int64_t terms,
                         const char* why, bool gradient = false, SymbolValues symbols = {}) {
      cases.push_back({.op = op,
                       .inputs = {std::move(x)},
                       .attrs = {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}},
                       .why = why,
                       .terms = terms,
                       .symbols = std::move(symbols),
                       .gradient = gradient});
    };
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        row(filled(f32({3, 13})), -1, exclusive, reverse, 13, "short rows", true);
        row(filled(f32({2, 1031})), 1, exclusive, reverse, 1031, "long rows: lanes share one");
        row(given(Tensor::of(DType::f32, {4, 3}, {2, 3, 4, 0, 5, 6, 7, 0, 0, 0, 0, 8})), 1,
            exclusive, reverse, 3, "zeros", true);
      }
    }
    row(filled(f32({3, 5, 7})), 1, false, false, 5, "an axis in the middle", true);
    row(filled(f32({517, 3})), 0, false, true, 517, "long columns");
    row(filled(f32({20011})), 0, false, false, 20011, "one long row");
    row(filled(f32({4100, 3})), 1, false, false, 3, "many short rows");
    row(filled(f16({3, 65})), 1, false, false, 65, "halves");
    row(filled({DType::bf16, {2, 300}}), 1, false, false, 300, "bf16, in chunks");
    row(normal(f32({3, 0})), 1, false, false, 1, "empty rows");
    row(normal(f32({0, 3})), 1, false, false, 1, "nothing to do");
    row(filled(f32({70, 1})), 1, true, false, 1, "rows of one");
    row(given(Tensor::of(DType::f32, {3, 3}, {1, kNaN, 3, kInf, 1, -kInf, -kInf, 2, 1})), 1, false,
        false, 3, "NaN and infinities");
    for (const DType dtype : {DType::i32, DType::u32, DType::i8, DType::u8})
      row(normal({dtype, {3, 67}}), 1, false, false, 1, "integers wrap");
    row(normal({DType::i64, {5, 7}}), 1, false, false, 1, "wide integers");
    row(normal(i32({2, 700})), 1, true, true, 1, "integers in chunks");
    row(normal(f32({"n", 9})), 1, false, false, 9, "a symbolic number of rows", true, {{"n", 4}});
    row(product ? positive(f32({3, "n"})) : normal(f32({3, "n"})), 1, false, false, 37,
        "a symbolic row length", !product, {{"n", 37}});
  }
}

void add_sets(Cases& cases) {
  const auto row = [&](CaseInput x, std::optional<int64_t> axis, bool sorted, const char* why) {
    Attrs attrs{{"sorted", sorted}};
    if (axis) attrs.set("axis", *axis);
    cases.push_back({.op = "unique", .inputs = {std::move(x)}, .attrs = attrs, .why = why});
  };
  for (const bool sorted : {true, false}) {
    row(normal(i32({67})), {}, sorted, "integers");
    row(normal({DType::i64, {3, 5}}), {}, sorted, "of all axes");
    row(normal({DType::u8, {3, 17}}), {}, sorted, "bytes");
    row(normal(boolean({9, 2})), 0, sorted, "rows of bools");
    row(normal({DType::i8, {2, 65}}), 1, sorted, "columns");
    row(special(f32({37})), {}, sorted, "NaN, infinities, zeros of both signs");
    row(normal(f16({33})), {}, sorted, "halves");
    row(normal(f32({0})), {}, sorted, "nothing");
    row(normal(f32({})), {}, sorted, "rank 0");
    row(normal(i32({20011})), {}, sorted, "more than is merged: sorted by digits");
    row(special(f32({5, 3, 2})), 1, sorted, "slices in the middle");
    row(normal(f32({3, 0})), 1, sorted, "no slices");
    row(normal(f32({0, 3})), 1, sorted, "slices of nothing, all equal");
    cases.push_back({.op = "unique",
                     .inputs = {normal(i32({"n"}))},
                     .attrs = {{"sorted", sorted}},
                     .why = "of a symbolic extent",
                     .symbols = {{"n", 70}}});
  }
  for (const TensorType& type :
       {boolean({7, 9}), i32({5, 3, 4}), f32({65}), f32({0, 3}), boolean({}), i64({1031}),
        TensorType{DType::u8, {2, 3, 1, 5, 2}}, f16({9, 7}), boolean({300, 301})})
    cases.push_back({.op = "non_zero", .inputs = {normal(type)}, .why = "where they are"});
  cases.push_back({.op = "non_zero", .inputs = {special(f32({3, 11}))}, .why = "NaN is not 0"});
  cases.push_back({.op = "non_zero",
                   .inputs = {normal(boolean({"n", 3}))},
                   .why = "of a symbolic extent",
                   .symbols = {{"n", 5}}});
  for (const int64_t axis : {0, 1, -2})
    cases.push_back({.op = "argsort",
                     .inputs = {normal(f32({5, 67}))},
                     .why = text("the order alone, along axis ", axis),
                     .gradient = false,
                     .compose = [axis](const Values& in) -> Values {
                       return {argsort(in[0], axis, axis == 1)};
                     }});
  const auto largest = [&](const TensorType& x, int64_t k, int64_t axis, const char* why) {
    cases.push_back({.op = "top_k",
                     .inputs = {normal(x)},
                     .attrs = {{"k", k}, {"axis", axis}, {"largest", true}},
                     .why = why,
                     .gradient = false});
  };
  largest(f32({2, 2100}), 3, 1, "few of a long row: only those are merged");
  largest(i32({1100, 2}), 5, 0, "few of a long column, with equals");
  largest(f32({2, 1300}), 600, 1, "more than a block sorts");
  largest(f16({70, 9}), 2, 1, "few of many short rows");
  largest(i32({5, 40}), 40, 1, "all of short rows, with equals");
  // A device goes on with an extent that the data told.
  cases.push_back({.op = "unique",
                   .inputs = {normal(i32({130}))},
                   .why = "ops behind it on the device",
                   .compose = [](const Values& in) -> Values {
                     const Unique found = unique(in[0] + in[0]);
                     return {sum(found.values + found.values), cumsum(found.values, 0),
                             gather(found.values, found.inverse)};
                   }});
  cases.push_back({.op = "non_zero",
                   .inputs = {normal(f32({41}))},
                   .why = "ops behind it on the device",
                   .gradient = false,
                   .compose = [](const Values& in) -> Values {
                     const Value found = non_zero(greater(in[0], scalar(in[0], 0)));
                     return {exp(gather(in[0], reshape(found, Dims{-1})))};
                   }});
}

}  // namespace

std::vector<OpCase> search_cases() {
  Cases cases;
  add_arg_extremes(cases);
  add_scans(cases);
  add_sets(cases);
  return cases;
}

}  // namespace rlx
