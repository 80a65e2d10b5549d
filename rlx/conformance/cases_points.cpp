// Rows for neighbours among points.

#include <functional>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_points.h"

namespace rlx {
namespace {

std::vector<OpCase> nearest_rows() {
  std::vector<OpCase> cases;
  const auto row = [&](const TensorType& x, const TensorType& points, const Attrs& attrs,
                       const char* why, const SymbolValues& symbols = {}) {
    const Dim& dims = x.shape[1];
    cases.push_back({.op = "nearest",
                     .inputs = {normal(x), normal(points)},
                     .attrs = attrs,
                     .why = why,
                     .terms = dims.is_number() ? dims.number() + 1 : 8,
                     .symbols = symbols});
  };
  row(f32({5, 3}), f32({17, 3}), {{"k", 4}}, "few points");
  row(f32({63, 65}), f32({130, 65}), {{"k", 7}, {"products", true}}, "products, many dims");
  row(f32({65, 4}), f32({65, 4}), {{"k", 1}, {"skip_self", true}}, "one, but not itself");
  row(f32({3, 8}), f32({9, 8}), {{"k", 9}}, "all of them");
  row(f32({257, 2}), f32({257, 2}), {{"k", 15}, {"skip_self", true}}, "more than a workgroup");
  row(f32({1, 1}), f32({1031, 1}), {{"k", 3}, {"products", true}}, "one query, one dim");
  row(f32({0, 3}), f32({5, 3}), {{"k", 2}}, "no query");
  row(f32({"m", 6}), f32({"n", 6}), {{"k", 5}}, "symbolic numbers of both", {{"m", 33}, {"n", 70}});
  row(type(DType::f16, {9, 5}), type(DType::f16, {20, 5}), {{"k", 2}}, "f16");
  cases.push_back({.op = "nearest",
                   .inputs = {given(rows_with({1, kNaN, 3, 3}, 1)),
                              given(rows_with({2, kNaN, 1, kInf, 2, 1}, 1))},
                   .attrs = {{"k", 6}},
                   .why = "equals, and what is no number",
                   .gradient = false});
  return cases;
}

std::vector<OpCase> composed_rows() {
  std::vector<OpCase> cases;
  const auto add = [&](const char* op, const std::vector<CaseInput>& inputs, const char* why,
                       int64_t terms, const std::function<TopK(const Values&)>& f,
                       const SymbolValues& symbols = {}) {
    cases.push_back({.op = op,
                     .inputs = inputs,
                     .why = why,
                     .terms = terms,
                     .symbols = symbols,
                     .compose = [f](const Values& v) -> Values {
                       const TopK found = f(v);
                       return {found.values, found.indices};
                     }});
  };
  const auto points = [&](const TensorType& x, int64_t k, const KnnOptions& o, const char* why,
                          const SymbolValues& symbols = {}) {
    add(
        "knn", {normal(x)}, why, 70, [=](const Values& v) { return knn(v[0], k, o); }, symbols);
  };
  points(f32({65, 7}), 5, {}, "squared distances");
  points(f32({63, 33}), 3, {.metric = "cosine"}, "cosine");
  points(f32({33, 9}), 4, {.metric = "dot", .skip_self = false}, "products, itself too");
  points(f32({"n", 5}), 2, {}, "a symbolic number", {{"n", 20}});
  points(f32({9, 0}), 2, {}, "points without dims");
  const auto pairwise = [&](const TensorType& x, int64_t k, bool skip, const char* why) {
    add("knn_pairwise", {normal(x)}, why, 1,
        [=](const Values& v) { return knn_pairwise(v[0], k, skip); });
  };
  pairwise(f32({9, 9}), 3, true, "not itself");
  pairwise(f32({7, 65}), 4, false, "itself too");
  pairwise(f32({3, 4}), 1, true, "one");
  pairwise(f32({0, 4}), 2, false, "of no point");
  return cases;
}

}  // namespace

std::vector<OpCase> points_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {nearest_rows(), composed_rows()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
