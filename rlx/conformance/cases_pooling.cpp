// Rows for pooling.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_pool.h"

namespace rlx {
namespace {

using Compose = std::function<Values(const Values&)>;

Attrs with(Ints window, const Attrs& more = {}) {
  Attrs attrs = more;
  attrs.set("window", std::move(window));
  return attrs;
}

// The same ways to slide for every pool.
std::vector<OpCase> sliding_cases(const std::string& op) {
  const CaseInput x = normal(f32({2, 3, 9, 7}));
  const Attrs over_the_edge = {{"ceil_mode", true}, {"strides", Ints{2, 3}}};
  std::vector<OpCase> cases = {
      {op, {x}, with({2, 2}), "the plain one", 4},
      {op, {x}, with({3, 2}, {{"strides", Ints{2, 3}}}), "strides", 6},
      {op,
       {x},
       with({3, 3}, {{"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 2}}}),
       "asymmetric pads",
       9},
      {op,
       {x},
       with({2, 3}, {{"dilations", Ints{3, 2}}, {"pads", Ints{1, 2, 0, 1}}}),
       "dilated",
       6},
      {op, {x}, with({2, 2}, over_the_edge), "ceil_mode: a window over the edge", 4},
      {op,
       {normal(f32({1, 2, 5, 5}))},
       with({2, 2}, {{"ceil_mode", true}, {"strides", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}),
       "ceil_mode: a window that would begin in the padding is dropped",
       4},
      {op,
       {x},
       with({3, 2}, {{"auto_pad", "same_upper"}, {"strides", Ints{2, 2}}}),
       "same_upper",
       6},
      {op, {x}, with({2, 2}, {{"auto_pad", "same_lower"}}), "same_lower", 4},
      {op, {normal(f32({1, 3, 257}))}, with({5}, {{"strides", Ints{3}}}), "1 dim", 5},
      {op,
       {normal(f32({1, 2, 5, 4, 6}))},
       with({2, 3, 2}, {{"strides", Ints{1, 1, 2}}, {"pads", Ints{1, 0, 0, 0, 1, 1}}}),
       "3 dims",
       12},
      {op, {normal(f32({1, 3, 65, 63}))}, with({3, 3}), "a large one", 9},
      {op, {normal(f32({0, 3, 9, 7}))}, with({2, 2}), "an empty batch", 1},
      {op, {normal(f32({2, 1, 1, 1}))}, with({1, 1}), "one element", 1},
      {op, {normal(f16({1, 3, 9, 7}))}, with({3, 3}), "f16", 9},
      {op, {normal({DType::bf16, {1, 3, 9, 7}})}, with({3, 3}), "bf16", 9},
      {op, {special(f32({1, 2, 9, 9}))}, with({2, 2}), "NaN and infinity stay in their windows", 4},
      {op,
       {normal(f32({"b", 3, "h", 7}))},
       with({3, 2}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 0}}, {"ceil_mode", true}}),
       "symbolic batch and size",
       6},
      {op,
       {normal(f32({"b", 3, "h"}))},
       with({3}, {{"strides", Ints{2}}, {"auto_pad", "same_upper"}}),
       "pads that only a run knows",
       3},
  };
  for (size_t i = cases.size() - 2; i < cases.size(); ++i) cases[i].symbols = {{"b", 2}, {"h", 8}};
  return cases;
}

std::vector<OpCase> max_pool_cases() {
  std::vector<OpCase> cases = sliding_cases("max_pool");
  const Attrs by_columns = {{"storage_order", 1}, {"strides", Ints{2, 2}}};
  for (const DType dtype : {DType::i8, DType::u8, DType::i32, DType::u32, DType::i64})
    cases.push_back({"max_pool",
                     {normal({dtype, {1, 2, 5, 7}})},
                     with({2, 3}, {{"pads", Ints{1, 1, 0, 0}}}),
                     "integers, the first of equals"});
  cases.push_back(
      {"max_pool", {normal(f32({2, 3, 9, 7}))}, with({2, 2}, by_columns), "indices by columns"});
  cases.push_back({"max_pool",
                   {normal(f32({1, 2, 0, 3}))},
                   with({2, 2}, {{"pads", Ints{1, 0, 1, 0}}, {"storage_order", 1}}),
                   "nothing but padding, indices by columns"});
  return cases;
}

std::vector<OpCase> average_pool_cases() {
  std::vector<OpCase> cases = sliding_cases("average_pool");
  const CaseInput x = normal(f32({2, 3, 9, 7}));
  const Attrs counted = {{"count_include_pad", true}, {"pads", Ints{1, 1, 1, 1}}};
  cases.push_back({"average_pool", {x}, with({3, 3}, counted), "padding counts", 9});
  Attrs ceil = counted;
  ceil.set("ceil_mode", true);
  ceil.set("strides", Ints{3, 2});
  cases.push_back(
      {"average_pool", {x}, with({3, 3}, ceil), "padding counts, what lies beyond it does not", 9});
  Attrs dilated = counted;
  dilated.set("dilations", Ints{2, 3});
  cases.push_back({"average_pool", {x}, with({3, 2}, dilated), "padding counts, dilated", 6});
  return cases;
}

std::vector<OpCase> lp_pool_cases() {
  std::vector<OpCase> cases = sliding_cases("lp_pool");
  const CaseInput x = normal(f32({1, 3, 7, 5}));
  cases.push_back({"lp_pool", {x}, with({3, 2}, {{"p", 1.0}}), "a sum of magnitudes", 6});
  cases.push_back({"lp_pool", {x}, with({3, 2}, {{"p", 3.0}}), "cubes", 6});
  return cases;
}

std::vector<OpCase> max_pool_gradient_cases() {
  const auto row = [](const Tensor& indices, Attrs attrs, const Dims& shape, const char* why) {
    attrs.set("shape", shape);
    const CaseInput dy = normal({DType::f32, indices.type().shape});
    return OpCase{"max_pool_gradient", {dy, given(indices)}, attrs, why, 2};
  };
  Tensor many(DType::i64, {1, 1, 400});
  for (int64_t i = 0; i < many.count(); ++i) many.set_integer(i, 2 * i + i % 2);
  return {
      row(many, with({2}, {{"strides", Ints{2}}}), {1, 1, 800}, "more than a workgroup"),
      row(Tensor::of(DType::i64, {1, 1, 3}, {1, 1, 3}), with({2}), {1, 1, 4},
          "two windows chose one element"),
      row(Tensor::of(DType::i64, {1, 2, 2}, {0, 3, 5, 7}), with({2}, {{"strides", Ints{2}}}),
          {1, 2, 4}, "two planes"),
      row(Tensor::of(DType::i64, {1, 1, 2, 1}, {3, 4}), with({2, 2}, {{"storage_order", 1}}),
          {1, 1, 3, 2}, "indices by columns"),
      row(Tensor::of(DType::i64, {0, 1, 2}, {}), with({2}), {0, 1, 3}, "an empty batch"),
  };
}

OpCase composed(const char* op, std::vector<CaseInput> inputs, const char* why, int64_t terms,
                Compose compose) {
  return {op, std::move(inputs), {}, why, terms, 1, {}, true, std::move(compose)};
}

std::vector<OpCase> global_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](const char* op, const Compose& f) {
    cases.push_back(composed(op, {normal(f32({2, 3, 9, 7}))}, "2 dims", 63, f));
    cases.push_back(composed(op, {normal(f32({2, 3, 257}))}, "1 dim", 257, f));
    cases.push_back(composed(op, {normal(f32({1, 2, 3, 4, 5}))}, "3 dims", 60, f));
    cases.push_back(composed(op, {normal(f16({1, 2, 5, 5}))}, "f16", 25, f));
    cases.push_back(composed(op, {normal(f32({"b", 2, "h", 5}))}, "symbolic", 35, f));
    cases.back().symbols = {{"b", 2}, {"h", 7}};
  };
  add("global_max_pool", [](const Values& v) { return Values{global_max_pool(v[0])}; });
  add("global_average_pool", [](const Values& v) { return Values{global_average_pool(v[0])}; });
  add("global_lp_pool", [](const Values& v) { return Values{global_lp_pool(v[0])}; });
  cases.push_back(composed("global_lp_pool", {normal(f32({1, 2, 5, 5}))}, "cubes", 25,
                           [](const Values& v) { return Values{global_lp_pool(v[0], 3)}; }));
  return cases;
}

std::vector<OpCase> max_unpool_cases() {
  const auto to = [](const Dims& shape) {
    return [shape](const Values& v) { return Values{max_unpool(v[0], v[1], shape)}; };
  };
  const auto back = [](const Values& v) {
    const TopK pooled = max_pool(v[0], {2, 2}, {.strides = {2, 2}});
    return Values{max_unpool(pooled.values, pooled.indices, v[0].shape())};
  };
  const auto back_to_odd = [](const Values& v) {  // larger than the windows reach
    const TopK pooled = max_pool(v[0], {2, 2}, {.strides = {2, 2}});
    return Values{max_unpool(pooled.values, pooled.indices, {1, 2, 7, 5})};
  };
  const CaseInput indices = given(Tensor::of(DType::i64, {1, 1, 2, 2}, {0, 3, 13, 10}));
  return {
      composed("max_unpool", {normal(f32({1, 1, 2, 2})), indices}, "to twice the size", 1,
               to({1, 1, 4, 4})),
      composed("max_unpool", {normal(f16({1, 1, 2, 2})), indices}, "f16", 1, to({1, 1, 5, 5})),
      composed("max_unpool", {normal(f32({2, 3, 6, 4}))}, "what max_pool left", 1, back),
      composed("max_unpool", {normal(f32({1, 2, 7, 5}))}, "into a larger shape", 1, back_to_odd),
      composed("max_unpool", {normal(f32({0, 3, 6, 4}))}, "nothing in it", 1, back),
      composed("max_unpool", {normal(f32({2, 3, 20, 14}))}, "more than a workgroup", 1, back),
  };
}

}  // namespace

std::vector<OpCase> pooling_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {max_pool_cases(), max_pool_gradient_cases(), average_pool_cases(),
                            lp_pool_cases(), global_cases(), max_unpool_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
