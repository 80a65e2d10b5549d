// Rows for reductions, softmax and the norms over rows.

#include <cmath>
#include <limits>

#include "rlx/conformance/op_cases.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor rows_with(std::vector<double> values, int64_t length) {
  const int64_t rows = static_cast<int64_t>(values.size()) / length;
  return Tensor::of(DType::f32, {rows, length}, values);
}

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

void add_softmax(Cases& cases) {
  const auto row = [&](CaseInput x, int64_t axis, int64_t terms, const char* why,
                       bool gradient = false) {
    cases.push_back({.op = "softmax",
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
  cases.push_back({.op = "softmax",
                   .inputs = {normal(f32({"n", 33}))},
                   .attrs = {{"axis", 0}},
                   .why = "a symbolic axis",
                   .terms = 17,
                   .symbols = {{"n", 17}},
                   .gradient = false});
}

void add_norms(Cases& cases) {
  for (const char* op : {"layer_norm", "rms_norm"}) {
    const bool layer = std::string(op) == "layer_norm";
    // gamma and, for layer_norm, beta
    const auto row = [&](CaseInput x, CaseInput gamma, CaseInput beta, int64_t axis, int64_t terms,
                         const char* why, SymbolValues symbols, bool gradient) {
      std::vector<CaseInput> inputs = {std::move(x), std::move(gamma)};
      if (layer) inputs.push_back(std::move(beta));
      cases.push_back({.op = op,
                       .inputs = std::move(inputs),
                       .attrs = {{"axis", axis}},
                       .why = why,
                       .terms = terms,
                       .symbols = std::move(symbols),
                       .gradient = gradient});
    };
    row(normal(f32({3, 65})), normal(f32({65})), normal(f32({65})), -1, 65,
        "rows longer than a workgroup", {}, true);
    row(normal(f32({2, 1031})), normal(f32({1031})), absent(), 1, 1031, "long rows, no beta", {},
        false);
    row(normal(f32({5, 7})), absent(), absent(), -1, 7, "neither gamma nor beta", {}, true);
    row(normal(f32({5, 7})), absent(), normal(f32({7})), -1, 7, "beta alone", {}, true);
    row(normal(f32({2, 3, 5})), normal(f32({3, 5})), normal(f32({3, 5})), 1, 15,
        "two trailing axes", {}, true);
    row(normal(f32({2, 3, 5})), normal(f32({2, 3, 5})), absent(), 0, 30, "all axes", {}, false);
    row(normal(f16({9, 63})), normal(f16({63})), normal(f16({63})), -1, 63, "halves", {}, false);
    row(normal({DType::bf16, {3, 65}}), absent(), absent(), -1, 65, "bf16", {}, false);
    row(normal(f32({0, 5})), normal(f32({5})), absent(), -1, 5, "nothing to do", {}, false);
    row(normal(f32({70, 1})), absent(), absent(), -1, 1, "rows of one", {}, false);
    row(given(rows_with({1, kNaN, 3, kInf, 1, 2, 4, 5, 6}, 3)), absent(), absent(), -1, 3,
        "NaN stays in its row", {}, false);
    row(normal(f32({"n", 33})), normal(f32({33})), normal(f32({33})), -1, 33,
        "a symbolic number of rows", {{"n", 4}}, false);
    row(normal(f32({3, "n"})), normal(f32({"n"})), absent(), -1, 67, "a symbolic row length",
        {{"n", 67}}, true);
  }
}

}  // namespace

std::vector<OpCase> reduction_cases() {
  Cases cases;
  add_reductions(cases);
  add_softmax(cases);
  add_norms(cases);
  return cases;
}

}  // namespace rlx
