// Rows for the gathers and scatters of single elements and of blocks, one_hot and
// reverse_sequence.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_scatter.h"

namespace rlx {
namespace {

std::vector<OpCase> gather_elements_cases() {
  const auto axis = [](int64_t at) { return Attrs{{"axis", at}}; };
  return {
      {"gather_elements", {normal(f32({4, 3})), index(i64({5, 3}), 4)}, {}, "columns", 5},
      {"gather_elements",
       {normal(f32({3, 65})), index(i32({3, 257}), 65)},
       axis(-1),
       "rows, i32 indices",
       9},
      {"gather_elements",
       {normal(f32({5, 4, 3})), index(i64({2, 7, 3}), 4)},
       axis(1),
       "a middle axis, indices smaller than x",
       9},
      {"gather_elements",
       {normal(f32({5})), given(Tensor::of(DType::i32, {3}, {-1, 0, -5}))},
       {},
       "negative indices",
       3},
      {"gather_elements",
       {normal(f32({101, 103})), index(i32({103, 103}), 101)},
       {},
       "more than 10,000 elements",
       9},
      {"gather_elements", {normal(f32({4, 3})), index(i64({0, 3}), 4)}, {}, "nothing"},
      {"gather_elements", {special(f16({5, 3})), index(i64({3, 3}), 5)}, {}, "f16 with NaN"},
      {"gather_elements", {special(f32({5, 9})), index(i64({3, 9}), 5)}, {}, "NaN and infinity"},
      {"gather_elements", {normal(bf16({5, 3})), index(i64({3, 3}), 5)}, {}, "bf16, odd words"},
      {"gather_elements",
       {normal(i8({5, 3})), index(type(DType::u8, {3, 3}), 5)},
       {},
       "packed integers, packed indices"},
      {"gather_elements", {normal(boolean({5})), index(i64({7}), 5)}, {}, "bool"},
      {"gather_elements", {normal(i64({5, 2})), index(i64({7, 2}), 5)}, {}, "i64"},
      {"gather_elements", {normal(type(DType::f64, {5})), index(i64({3}), 5)}, {}, "f64"},
      {"gather_elements",
       {normal(f32({4, 3})), index(i64({5, 4}), 3)},
       {},
       "of a transposed x",
       6,
       1,
       {},
       true,
       [](const Values& v) -> Values {
         return {gather_elements(transpose(v[0], {1, 0}), slice(v[1], {1}, {5}), 0)};
       }},
      with({"gather_elements",
            {normal(f32({"b", "n"})), index(i64({"b", 7}), 5)},
            axis(1),
            "symbolic",
            7},
           {{"b", 3}, {"n", 5}}),
  };
}

std::vector<OpCase> gather_nd_cases() {
  const auto tuples = [](Shape shape, std::initializer_list<double> values) {
    return given(Tensor::of(DType::i64, std::move(shape), values));
  };
  const Attrs batched = {{"batch_dims", 1}};
  return {
      {"gather_nd", {normal(f32({3, 4})), tuples({3, 2}, {0, 3, 2, 1, 0, 3})}, {}, "elements", 3},
      {"gather_nd", {normal(f32({3, 4, 2})), index(i64({5, 1}), 3)}, {}, "rows", 5},
      {"gather_nd",
       {normal(f32({3, 4, 2})), tuples({2, 2}, {-1, -4, 0, 1})},
       {},
       "negative indices",
       2},
      {"gather_nd", {normal(f32({2, 5, 3})), index(i32({2, 7, 1}), 5)}, batched, "a batch", 7},
      {"gather_nd",
       {normal(f32({3, 4, 4})), index(i64({3, 2, 3, 2}), 4)},
       batched,
       "a batch of tuples, indices of rank 4",
       9},
      {"gather_nd", {normal(f32({7, 65})), index(i64({257, 1}), 7)}, {}, "large blocks", 99},
      {"gather_nd", {normal(f32({5})), index(i64({10001, 1}), 5)}, {}, "many indices", 4096},
      {"gather_nd", {normal(f32({5, 2})), index(i64({0, 1}), 5)}, {}, "no tuples"},
      {"gather_nd", {normal(f32({5, 0})), index(i64({2, 1}), 5)}, {}, "empty blocks"},
      {"gather_nd", {special(f16({5, 3})), index(i64({3, 1}), 5)}, {}, "f16 with NaN"},
      {"gather_nd", {normal(u32({4, 4})), index(i64({3, 2}), 4)}, {}, "u32"},
      {"gather_nd", {normal(i8({5, 3})), index(i64({3, 1}), 5)}, {}, "packed integers"},
      {"gather_nd", {normal(boolean({4, 4})), index(i64({5, 2}), 4)}, {}, "bool"},
      with({"gather_nd",
            {normal(f32({"b", "n", 3})), index(i64({"b", "m", 1}), 5)},
            batched,
            "symbolic",
            4},
           {{"b", 2}, {"n", 5}, {"m", 4}}),
  };
}

std::vector<OpCase> scatter_elements_cases() {
  const auto attrs = [](const char* reduction, int64_t axis = 0) {
    return Attrs{{"reduction", reduction}, {"axis", axis}};
  };
  const CaseInput x = normal(f32({5, 3})), updates = normal(f32({4, 3}));
  const CaseInput at = index(i64({4, 3}), 5), line = index(i64({500}), 7);
  const CaseInput small = normal(f32({7})), many = normal(f32({500}));
  return {
      {"scatter_elements", {x, at, updates}, {}, "replaced, the last one stays"},
      {"scatter_elements", {x, at, updates}, attrs("add"), "added", 4},
      {"scatter_elements", {x, at, updates}, attrs("mul"), "multiplied", 4},
      {"scatter_elements", {x, at, updates}, attrs("max"), "the largest", 4},
      {"scatter_elements", {x, at, updates}, attrs("min"), "the smallest", 4},
      {"scatter_elements", {small, line, many}, {}, "many for few places, replaced"},
      {"scatter_elements", {small, line, many}, attrs("add"), "many for few places, added", 500},
      {"scatter_elements",
       {small, line, many},
       {{"reduction", "add"}, {"deterministic", true}},
       "many for few places, in order",
       500},
      {"scatter_elements",
       {special(f32({7})), line, special(f32({500}))},
       attrs("max"),
       "many for few places, NaN wins",
       1,
       1,
       {},
       false},
      {"scatter_elements",
       {normal(i32({7})), line, normal(i32({500}))},
       attrs("mul"),
       "i32 wraps alike in any order"},
      {"scatter_elements",
       {normal(f16({7})), line, normal(f16({500}))},
       {},
       "many f16 for few places, replaced"},
      {"scatter_elements",
       {normal(f16({7})), line, normal(f16({500}))},
       attrs("add"),
       "many f16 for few places, rounded once",
       500},
      {"scatter_elements",
       {normal(f32({3, 65})), index(i32({2, 63}), 65), normal(f32({2, 63}))},
       attrs("add", -1),
       "rows, indices smaller than x",
       9},
      {"scatter_elements",
       {normal(f32({5, 2, 1031})), index(i32({1, 2, 1031}), 5), normal(f32({1, 2, 1031}))},
       {},
       "more than 10,000 elements"},
      {"scatter_elements",
       {x, index(i64({0, 3}), 5), normal(f32({0, 3}))},
       attrs("add"),
       "no updates"},
      {"scatter_elements", {normal(u32({5, 3})), at, normal(u32({4, 3}))}, attrs("max"), "u32"},
      {"scatter_elements",
       {normal(i64({5, 3})), at, normal(i64({4, 3}))},
       attrs("add"),
       "i64 sums are made on the host"},
      {"scatter_elements", {normal(i64({5, 3})), at, normal(i64({4, 3}))}, attrs("max"), "i64"},
      {"scatter_elements", {normal(i8({5, 3})), at, normal(i8({4, 3}))}, {}, "packed integers"},
      {"scatter_elements", {normal(boolean({5, 3})), at, normal(boolean({4, 3}))}, {}, "bool"},
      with({"scatter_elements",
            {normal(f32({"v"})), index(i64({"n"}), 5), normal(f32({"n"}))},
            attrs("add"),
            "symbolic",
            70},
           {{"v", 5}, {"n", 70}}),
  };
}

std::vector<OpCase> scatter_nd_cases() {
  const auto reduction = [](const char* name) { return Attrs{{"reduction", name}}; };
  const CaseInput x = normal(f32({4, 3})), at = index(i64({6, 2}), 3), updates = normal(f32({6}));
  const CaseInput rows = index(i64({200, 1}), 4), blocks = normal(f32({200, 3}));
  return {
      {"scatter_nd", {x, at, updates}, {}, "elements replaced, the last one stays"},
      {"scatter_nd", {x, at, updates}, reduction("add"), "elements added", 6},
      {"scatter_nd", {x, at, updates}, reduction("mul"), "multiplied", 6},
      {"scatter_nd", {x, at, updates}, reduction("max"), "the largest", 6},
      {"scatter_nd", {x, at, updates}, reduction("min"), "the smallest", 6},
      {"scatter_nd", {x, rows, blocks}, {}, "many rows replaced"},
      {"scatter_nd", {x, rows, blocks}, reduction("add"), "many rows added", 200},
      {"scatter_nd",
       {x, rows, blocks},
       {{"reduction", "add"}, {"deterministic", true}},
       "many rows, in order",
       200},
      {"scatter_nd",
       {normal(f32({7, 9})), index(i64({3000, 2}), 7), normal(f32({3000}))},
       {{"reduction", "add"}, {"deterministic", true}},
       "many elements, sorted",
       500},
      {"scatter_nd",
       {normal(f16({3, 2})), given(Tensor(DType::i32, {200, 2})), normal(f16({200}))},
       {{"reduction", "add"}, {"deterministic", true}},
       "f16, all to one place",
       200},
      {"scatter_nd",
       {special(f32({300})), index(i64({100, 1}), 300), special(f32({100}))},
       {{"reduction", "mul"}, {"deterministic", true}},
       "NaN and infinity stay at their places, sorted",
       9,
       1,
       {},
       false},
      {"scatter_nd",
       {normal(f32({2, 5, 3})), index(i32({2, 7, 1}), 5), normal(f32({2, 7, 3}))},
       {{"batch_dims", 1}, {"reduction", "add"}},
       "a batch",
       7},
      {"scatter_nd",
       {normal(f32({1031, 11})), index(i64({63, 1}), 1031), normal(f32({63, 11}))},
       {},
       "more than 10,000 elements"},
      {"scatter_nd",
       {x, given(Tensor::of(DType::i64, {2, 2}, {-1, -3, 0, 1})), normal(f32({2}))},
       {},
       "negative indices"},
      {"scatter_nd", {x, index(i64({0, 1}), 4), normal(f32({0, 3}))}, {}, "no updates"},
      {"scatter_nd",
       {special(f16({4, 3})), index(i64({3, 1}), 4), special(f16({3, 3}))},
       {},
       "f16 with NaN and infinity"},
      {"scatter_nd", {normal(i8({4, 3})), rows, normal(i8({200, 3}))}, {}, "packed integers"},
      {"scatter_nd", {normal(i32({4, 3})), rows, normal(i32({200, 3}))}, reduction("add"), "i32"},
      {"scatter_nd", {normal(boolean({4, 3})), rows, normal(boolean({200, 3}))}, {}, "bool"},
      with({"scatter_nd",
            {normal(f32({"v", 3})), index(i64({"n", 1}), 5), normal(f32({"n", 3}))},
            reduction("add"),
            "symbolic",
            70},
           {{"v", 5}, {"n", 70}}),
  };
}

std::vector<OpCase> one_hot_cases() {
  const auto deep = [](int64_t depth, int64_t axis = -1) {
    return Attrs{{"depth", depth}, {"axis", axis}};
  };
  const CaseInput strewn = list({0, 3, -1, 5, -6, -5, 4});
  return {
      {"one_hot", {index(i64({7}), 5)}, deep(5), "a list"},
      {"one_hot", {strewn}, deep(5), "negative ones count from the end, others are off"},
      {"one_hot", {index(i32({3, 65}), 9)}, deep(9, 0), "the first axis"},
      {"one_hot", {index(i64({2, 3, 4}), 7)}, deep(7, -2), "a middle axis"},
      {"one_hot", {index(i64({}), 3)}, deep(3), "of one index"},
      {"one_hot", {index(i64({103}), 101)}, deep(101), "more than 10,000 elements"},
      {"one_hot", {index(type(DType::u8, {5}), 3)}, deep(2), "packed unsigned indices"},
      {"one_hot", {index(i64({0}), 3)}, deep(3), "no indices"},
      {"one_hot", {index(i64({3}), 3)}, deep(0), "no depth"},
      {"one_hot", {strewn, list({5}), normal(f32({2}))}, {}, "depth and values as operands", 35},
      {"one_hot", {strewn, list({5}), normal(f16({2}))}, {{"axis", 0}}, "f16 values"},
      {"one_hot", {strewn, list({5}), normal(i8({2}))}, {}, "packed values"},
      {"one_hot", {strewn, list({5}), special(f32({2}))}, {}, "special values"},
      {"one_hot", {strewn}, {{"depth", 5}, {"dtype", DType::boolean}}, "bool"},
      {"one_hot", {strewn}, {{"depth", 3}, {"dtype", DType::i64}}, "i64"},
      {"one_hot", {strewn}, {{"depth", 3}, {"dtype", DType::f16}}, "f16"},
      with({"one_hot", {index(i64({"n"}), 4)}, deep(4, 0), "symbolic"}, {{"n", 5}}),
  };
}

std::vector<OpCase> reverse_sequence_cases() {
  const auto axes = [](int64_t time, int64_t batch) {
    return Attrs{{"time_axis", time}, {"batch_axis", batch}};
  };
  const auto lengths = [](std::initializer_list<double> values) { return list(values); };
  return {
      {"reverse_sequence", {normal(f32({4, 4})), lengths({4, 3, 2, 1})}, {}, "time first"},
      {"reverse_sequence", {normal(f32({3, 5})), lengths({0, 5, 1})}, axes(1, 0), "batch first"},
      {"reverse_sequence",
       {normal(f32({2, 65, 3})), lengths({63, 64})},
       axes(1, 0),
       "with features"},
      {"reverse_sequence",
       {normal(f32({3, 2, 5, 2})), index(i32({5}), 4)},
       axes(0, 2),
       "axes apart"},
      {"reverse_sequence",
       {normal(f32({257, 3, 17})), lengths({257, 1, 100})},
       {},
       "more than 10,000 elements"},
      {"reverse_sequence", {normal(f32({0, 2})), lengths({0, 0})}, {}, "no time"},
      {"reverse_sequence", {normal(f32({3, 0})), index(i64({0}), 3)}, {}, "no batch"},
      {"reverse_sequence", {special(f16({3, 5})), lengths({2, 5, 3})}, axes(1, 0), "f16 with NaN"},
      {"reverse_sequence", {normal(i8({3, 5})), lengths({2, 5, 3})}, axes(1, 0), "packed integers"},
      {"reverse_sequence", {normal(boolean({2, 3})), lengths({3, 2})}, axes(1, 0), "bool"},
      with({"reverse_sequence", {normal(f32({"t", "b", 2})), index(i64({"b"}), 5)}, {}, "symbolic"},
           {{"t", 5}, {"b", 3}}),
  };
}

}  // namespace

std::vector<OpCase> scatter_cases() {
  std::vector<OpCase> cases;
  for (const auto& family : {gather_elements_cases(), gather_nd_cases(), scatter_elements_cases(),
                             scatter_nd_cases(), one_hot_cases(), reverse_sequence_cases()})
    cases.insert(cases.end(), family.begin(), family.end());
  return cases;
}

}  // namespace rlx
