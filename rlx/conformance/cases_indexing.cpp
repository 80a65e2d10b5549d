// Rows for views, concat, gather, scatter, write_slice, sort and top_k.

#include "rlx/conformance/op_cases.h"

namespace rlx {
namespace {

std::vector<OpCase> view_cases() {
  const auto shape = [](Dims dims) { return Attrs{{"shape", std::move(dims)}}; };
  const auto order = [](Ints axes) { return Attrs{{"order", std::move(axes)}}; };
  const auto axes = [](Ints list) { return Attrs{{"axes", std::move(list)}}; };
  return {
      {"reshape", {normal(f32({3, 4}))}, shape({2, -1}), "one dim told by the others"},
      {"reshape", {normal(f16({5, 7}))}, shape({35}), "f16, an odd count"},
      {"reshape", {normal(boolean({2, 3}))}, shape({3, 2}), "bool"},
      {"reshape", {normal(f32({0, 3}))}, shape({3, 0}), "empty"},
      {"reshape", {normal(f32({1}))}, shape({}), "to rank 0"},
      {"reshape",
       {normal(f32({2, 6})), list({0, 3, -1})},
       {},
       "a target of the run: 0 copies, -1 is what is left"},
      with({"reshape", {normal(f32({"n", 4}))}, shape({-1, 2}), "symbolic"}, {{"n", 3}}),
      {"transpose", {normal(f32({3, 65}))}, order({1, 0}), "a matrix"},
      {"transpose", {normal(f32({2, 3, 4, 5}))}, order({0, 2, 1, 3}), "heads to the front"},
      {"transpose", {special(f16({7, 9}))}, {}, "f16 with NaN and infinity, reversed"},
      {"transpose", {normal(i8({5, 3}))}, order({1, 0}), "packed integers"},
      {"transpose", {normal(f32({0, 2}))}, order({1, 0}), "empty"},
      with({"transpose", {normal(f32({2, "n", 3}))}, order({2, 1, 0}), "symbolic"}, {{"n", 5}}),
      {"expand", {normal(f32({3, 1}))}, shape({2, 3, 4}), "a new dim and a repeated one", 8},
      {"expand", {normal(f32({}))}, shape({63}), "a scalar", 63},
      {"expand", {normal(f16({1, 5}))}, shape({3, 5}), "f16"},
      {"expand", {normal(i32({4}))}, shape({1}), "broadcast the other way keeps x"},
      {"expand", {normal(f32({1, 3}))}, shape({0, 3}), "to nothing"},
      with({"expand", {normal(f32({1, "n"}))}, shape({4, "n"}), "symbolic", 4}, {{"n", 3}}),
      {"squeeze", {normal(f32({1, 3, 1, 2}))}, axes({0, -2}), "two axes"},
      {"squeeze", {normal(f16({1, 3, 1}))}, {}, "all of them, f16"},
      {"squeeze", {normal(i32({1}))}, {}, "to rank 0"},
      with({"squeeze", {normal(f32({"n", 1}))}, axes({1}), "symbolic"}, {{"n", 3}}),
      {"unsqueeze", {normal(f32({3, 2}))}, axes({0, -1}), "at both ends"},
      {"unsqueeze", {normal(f16({5}))}, axes({1}), "f16"},
      {"unsqueeze", {normal(boolean({}))}, axes({0}), "from rank 0"},
      with({"unsqueeze", {normal(f32({"n"}))}, axes({0}), "symbolic"}, {{"n", 3}}),
      {"shape_of", {normal(f32({3, 1, 7}))}, {}, "numbers"},
      {"shape_of", {normal(f16({0, 2}))}, {}, "of an empty tensor"},
      {"shape_of", {normal(f32({}))}, {}, "of rank 0 it is empty"},
      with({"shape_of", {normal(i32({"n", 2, "m"}))}, {}, "symbolic"}, {{"n", 3}, {"m", 65}}),
  };
}

std::vector<OpCase> slice_cases() {
  const auto slice = [](Ints starts, Ints ends, Ints axes = {}, Ints steps = {}) {
    return Attrs{{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  };
  const Attrs reversed = slice({-1}, {INT64_MIN}, {-1}, {-1});
  return {
      {"slice", {normal(f32({5, 65}))}, slice({1, 3}, {4, 63}), "a block"},
      {"slice", {normal(f32({40, 65}))}, slice({1, 3}, {39, 60}), "a large block"},
      {"slice",
       {normal(f32({3, 1031}))},
       slice({2, 1030}, {0, 0}, {0, 1}, {-1, -2}),
       "large, back"},
      {"slice",
       {normal(i8({60, 67}))},
       slice({1, 3}, {59, 60}),
       "a large block of packed integers"},
      {"slice", {normal(f16({31, 3, 33}))}, slice({1}, {32}, {2}), "f16, rank 3"},
      {"slice", {normal(f32({5, 3}))}, slice({0}, {2}), "the first rows, which are contiguous"},
      {"slice", {normal(f32({7, 3}))}, slice({-3}, {INT64_MAX}, {0}), "the last rows"},
      {"slice", {normal(f32({3, 11}))}, slice({1}, {10}, {1}, {3}), "steps"},
      {"slice", {normal(f32({3, 11}))}, reversed, "backwards"},
      with({"slice",
            {normal(f32({2, "n", 7}))},
            slice({-1}, {INT64_MIN}, {0}, {-1}),
            "backwards by a symbolic stride"},
           {{"n", 5}}),
      {"slice", {normal(f32({11, 2}))}, slice({9}, {0}, {0}, {-4}), "backwards in steps"},
      {"slice", {normal(f32({4, 3}))}, slice({3}, {1}), "nothing"},
      {"slice", {special(f16({3, 9}))}, slice({2}, {7}, {1}, {2}), "f16 with NaN and infinity"},
      {"slice", {normal(boolean({9}))}, slice({1}, {8}, {0}, {2}), "bool"},
      {"slice", {normal(i8({3, 7}))}, slice({1}, {6}, {1}), "packed integers"},
      {"slice", {normal(f32({6, 4})), list({1, -3}), list({5, 100})}, {}, "ends known at run time"},
      with({"slice", {normal(f32({"n", 3}))}, slice({1}, {-1}, {0}), "symbolic"}, {{"n", 5}}),
      with({"slice",
            {normal(f32({"n", 3}))},
            slice({-1}, {INT64_MIN}, {0}, {-2}),
            "symbolic, backwards"},
           {{"n", 6}}),
      with({"slice", {normal(f32({"n", 3}))}, slice({4}, {9}, {0}), "symbolic, past the end"},
           {{"n", 3}}),
  };
}

std::vector<OpCase> concat_cases() {
  const auto axis = [](int64_t at) { return Attrs{{"axis", at}}; };
  const std::vector<CaseInput> nine(9, normal(f32({3, 2}))), nine_f16(9, normal(f16({3, 1})));
  return {
      {"concat", {normal(f32({2, 3})), normal(f32({5, 3}))}, axis(0), "rows"},
      {"concat",
       {normal(f32({3, 1})), normal(f32({3, 63})), normal(f32({3, 2}))},
       axis(1),
       "columns, odd sizes"},
      {"concat", {normal(f32({2, 3, 4})), normal(f32({2, 1, 4}))}, axis(-2), "a middle axis"},
      {"concat",
       {normal(f32({65, 9})), normal(f32({63, 9}))},
       axis(0),
       "rows, more than a workgroup's"},
      {"concat", {normal(f32({3, 2}))}, axis(0), "one part"},
      {"concat",
       {normal(f32({0, 3})), normal(f32({2, 3})), normal(f32({0, 3}))},
       axis(0),
       "empty parts"},
      {"concat", {normal(f32({2, 0})), normal(f32({2, 0}))}, axis(1), "nothing but empty parts"},
      {"concat", nine, axis(1), "more parts than a dispatch binds"},
      {"concat", nine_f16, axis(1), "more f16 parts than a dispatch binds, odd rows"},
      {"concat", {special(f16({3, 3})), normal(f16({3, 2}))}, axis(1), "f16 with NaN and infinity"},
      {"concat", {normal(i8({3})), normal(i8({4}))}, axis(0), "packed integers"},
      {"concat", {normal(boolean({2, 2})), normal(boolean({1, 2}))}, axis(0), "bool"},
      {"concat", {normal(i64({2})), normal(i64({3}))}, axis(0), "i64"},
      with({"concat", {normal(f32({"n", 3})), normal(f32({"m", 3}))}, axis(0), "symbolic rows"},
           {{"n", 5}, {"m", 2}}),
      with({"concat",
            {normal(f32({"b", "n", 3})), normal(f32({"b", 2, 3}))},
            axis(1),
            "symbolic, a middle axis"},
           {{"b", 3}, {"n", 5}}),
      with({"concat",
            {normal(f32({"n", 3})), normal(f32({2, 3}))},
            axis(0),
            "a part that is empty this time"},
           {{"n", 0}}),
  };
}

std::vector<OpCase> gather_cases() {
  const auto axis = [](int64_t at) { return Attrs{{"axis", at}}; };
  return {
      {"gather", {normal(f32({7, 3})), index(i64({5}), 7)}, {}, "rows of a table", 5},
      {"gather",
       {normal(f32({3, 7})), index(i32({2, 5}), 7)},
       axis(1),
       "columns, indices of rank 2",
       10},
      {"gather", {normal(f32({3, 5, 2})), index(i64({}), 5)}, axis(-2), "one index drops the axis"},
      {"gather", {normal(f32({5, 2})), list({-1, 0, -5})}, {}, "negative indices", 3},
      {"gather",
       {normal(f32({65, 65})), index(i32({63}), 65)},
       {},
       "more elements than a workgroup",
       63},
      {"gather", {normal(f32({4, 3})), index(i64({0}), 4)}, {}, "no indices"},
      {"gather", {normal(f32({4, 0})), index(i64({2}), 4)}, {}, "rows of nothing"},
      {"gather", {special(f16({9, 3})), index(i64({4}), 9)}, {}, "f16 with NaN and infinity"},
      {"gather",
       {normal(i8({5, 3})), index(type(DType::u8, {3}), 5)},
       {},
       "packed integers, packed indices"},
      {"gather", {normal(boolean({5})), index(i32({7}), 5)}, {}, "bool"},
      {"gather", {normal(i64({5, 2})), index(i64({3}), 5)}, axis(-2), "i64, a negative axis"},
      with({"gather",
            {normal(f32({"v", 4})), index(i64({"n"}), 6)},
            {},
            "symbolic table and indices",
            3},
           {{"v", 6}, {"n", 3}}),
      with({"gather",
            {normal(f32({2, "v"})), index(i64({"n"}), 6)},
            axis(1),
            "symbolic, the last axis",
            3},
           {{"v", 6}, {"n", 3}}),
  };
}

std::vector<OpCase> scatter_cases() {
  const auto attrs = [](const char* reduction, int64_t axis = 0) {
    return Attrs{{"reduction", reduction}, {"axis", axis}};
  };
  const CaseInput twice = list({1, 4, 1});
  const CaseInput x = normal(f32({5, 3})), updates = normal(f32({3, 3}));
  return {
      {"scatter", {x, list({3, 0, -1}), updates}, {}, "rows replaced"},
      {"scatter", {x, twice, updates}, {}, "of duplicates the last one stays"},
      {"scatter", {x, twice, updates}, attrs("add"), "duplicates are added", 3},
      {"scatter", {x, twice, updates}, attrs("mul"), "duplicates are multiplied", 3},
      {"scatter",
       {given(Tensor::of(DType::f32, {3, 2}, {2, 0, 3, 0, 0, 4})),
        given(Tensor::of(DType::i64, {3}, {0, 2, 0})),
        given(Tensor::of(DType::f32, {3, 2}, {0, 5, 0, 2, 3, 0}))},
       attrs("mul"),
       "factors of 0",
       3},
      {"scatter", {x, twice, updates}, attrs("max"), "the largest", 3},
      {"scatter", {x, twice, updates}, attrs("min"), "the smallest", 3},
      {"scatter",
       {special(f32({5, 9})), twice, special(f32({3, 9}))},
       attrs("max"),
       "NaN wins",
       1,
       1,
       {},
       false},
      {"scatter",
       {normal(f32({2, 5, 65})), twice, normal(f32({2, 3, 65}))},
       attrs("add", 1),
       "a middle axis",
       3},
      {"scatter",
       {normal(f32({5, 7})), list({6}), normal(f32({5, 1}))},
       attrs("none", -1),
       "the last axis"},
      {"scatter",
       {normal(f16({5, 3})), twice, normal(f16({3, 3}))},
       attrs("add"),
       "f16, rounded once",
       3},
      {"scatter", {normal(f16({5, 3})), twice, normal(f16({3, 3}))}, {}, "f16 replaced"},
      {"scatter", {normal(i8({5, 3})), twice, normal(i8({3, 3}))}, attrs("mul"), "packed integers"},
      {"scatter", {normal(i32({5, 3})), twice, normal(i32({3, 3}))}, attrs("min"), "i32"},
      {"scatter", {normal(boolean({5})), twice, normal(boolean({3}))}, {}, "bool"},
      {"scatter", {x, index(i64({0}), 5), normal(f32({0, 3}))}, attrs("add"), "no updates"},
      {"scatter",
       {normal(i64({5, 3})), twice, normal(i64({3, 3}))},
       attrs("add"),
       "i64 sums are made on the host"},
      {"scatter", {normal(i64({5, 3})), twice, normal(i64({3, 3}))}, {}, "i64 replaced"},
      {"scatter",
       {normal(f32({7, 3})), index(i64({300}), 7), normal(f32({300, 3}))},
       attrs("add"),
       "many for few rows",
       300},
      {"scatter",
       {normal(f16({7, 3})), index(i64({300}), 7), normal(f16({300, 3}))},
       {},
       "many f16 for few rows, replaced"},
      {"scatter", {normal(f32({0, 3})), index(i64({0}), 1), normal(f32({0, 3}))}, {}, "empty"},
      with({"scatter",
            {normal(f32({"v", 3})), index(i64({"n"}), 5), normal(f32({"n", 3}))},
            attrs("add"),
            "symbolic",
            7},
           {{"v", 5}, {"n", 7}}),
      with({"scatter",
            {normal(f32({"v", 3})), index(i64({"n"}), 5), normal(f32({"n", 3}))},
            {},
            "symbolic, replaced"},
           {{"v", 5}, {"n", 7}}),
  };
}

std::vector<OpCase> write_slice_cases() {
  return {
      {"write_slice", {normal(f32({5, 7})), normal(f32({2, 3})), list({1, 4})}, {}, "a block"},
      {"write_slice",
       {normal(f32({9, 65})), normal(f32({1, 65})), list({8, 0})},
       {},
       "the last row"},
      {"write_slice",
       {normal(f32({2, 5, 3})), normal(f32({2, 1, 3})), list({0, 2, 0})},
       {},
       "a middle axis"},
      {"write_slice", {normal(f32({3, 4})), normal(f32({3, 4})), list({0, 0})}, {}, "all of it"},
      {"write_slice",
       {normal(f32({3, 4})), normal(f32({0, 2})), list({1, 1})},
       {},
       "an empty block"},
      {"write_slice",
       {normal(f16({3, 5})), normal(f16({2, 3})), list({1, 1})},
       {},
       "f16, words shared with what stays"},
      {"write_slice",
       {normal(bf16({3, 5})), normal(bf16({1, 2})), list({2, 3})},
       {},
       "bf16, the last word is half full"},
      {"write_slice",
       {normal(i8({5, 7})), normal(i8({2, 3})), list({0, 3})},
       {},
       "packed integers"},
      {"write_slice", {normal(boolean({5})), normal(boolean({2})), list({3})}, {}, "bool"},
      with({"write_slice",
            {normal(f32({"n", 3})), normal(f32({2, 3})), list({3, 0})},
            {},
            "symbolic"},
           {{"n", 5}}),
  };
}

std::vector<OpCase> sort_cases() {
  const Attrs down = {{"descending", true}};
  const auto top = [](int64_t k, int64_t axis = -1, bool largest = true) {
    return Attrs{{"k", k}, {"axis", axis}, {"largest", largest}};
  };
  return {
      {"sort", {normal(f32({3, 5}))}, {}, "short rows"},
      {"sort", {normal(f32({2, 1}))}, {}, "rows of one"},
      {"sort", {normal(f32({65, 3}))}, {{"axis", 0}}, "the first axis"},
      {"sort", {normal(i32({2, 1031}))}, {}, "many ties over several blocks", 1, 1, {}, false},
      {"sort",
       {normal(f32({1, 1031}))},
       down,
       "descending, longer than two blocks",
       1,
       1,
       {},
       false},
      {"sort", {normal(f32({2, 1024}))}, down, "as long as a block", 1, 1, {}, false},
      {"sort", {normal(i32({257, 5}))}, {{"axis", 0}}, "columns with ties", 1, 1, {}, false},
      {"sort", {special(f32({1, 1500}))}, {}, "NaN behind two blocks", 1, 1, {}, false},
      {"sort", {special(f32({3, 63}))}, {}, "NaN is the largest", 1, 1, {}, false},
      {"sort", {special(f32({3, 63}))}, down, "NaN is the first", 1, 1, {}, false},
      {"sort", {normal(f16({2, 257}))}, {}, "f16"},
      {"sort", {normal(u32({2, 33}))}, down, "u32"},
      {"sort", {normal(boolean({9}))}, {}, "bool"},
      {"sort", {normal(i8({2, 7}))}, {}, "packed integers"},
      {"sort", {normal(f32({0, 3}))}, {}, "no rows"},
      {"sort", {normal(f32({3, 0}))}, {}, "empty rows"},
      {"sort", {normal(i32({70001}))}, {}, "longer than 65536", 1, 1, {}, false},
      {"sort", {special(f32({2, 17011}))}, {}, "NaN behind many tiles", 1, 1, {}, false},
      {"sort", {special(f32({1, 16385}))}, down, "by digits, downwards", 1, 1, {}, false},
      {"sort", {normal(f32({17001, 3}))}, {{"axis", 0}}, "long columns", 1, 1, {}, false},
      {"sort", {normal(f32({1000003}))}, {}, "a million", 1, 1, {}, false},
      with({"sort", {normal(f32({2, "n", 2}))}, {{"axis", 1}}, "symbolic"}, {{"n", 7}}),
      with({"sort", {normal(i32({2, "n"}))}, {}, "symbolic over several blocks"}, {{"n", 1031}}),
      {"top_k", {normal(f32({3, 9}))}, top(4), "the largest"},
      {"top_k", {normal(f32({9, 3}))}, top(2, 0, false), "the smallest of columns"},
      {"top_k", {normal(i32({2, 257}))}, top(5), "ties to the lower index"},
      {"top_k", {normal(i32({2, 5000}))}, top(3), "of many blocks"},
      {"top_k", {normal(f32({1, 2100}))}, top(1300), "more than a block", 1, 1, {}, false},
      {"top_k", {normal(i32({1, 3001}))}, top(1000, -1, false), "nearly a block", 1, 1, {}, false},
      {"top_k", {normal(f32({3, 1031, 2}))}, top(40, 1), "more than a lane sorts", 1, 1, {}, false},
      {"top_k", {normal(f32({1, 33001}))}, top(9001), "many of many", 1, 1, {}, false},
      {"top_k", {special(f32({3, 65}))}, top(7), "NaN is the largest", 1, 1, {}, false},
      {"top_k", {normal(f16({2, 33}))}, top(3), "f16"},
      {"top_k", {normal(f32({2, 3}))}, top(0), "none"},
      {"top_k", {normal(f32({2, 3}))}, top(3), "all"},
      {"top_k", {normal(f32({2, 9})), list({3})}, {}, "k known at run time"},
      with({"top_k", {normal(f32({"b", "n"}))}, top(2), "symbolic"}, {{"b", 3}, {"n", 5}}),
  };
}

}  // namespace

std::vector<OpCase> indexing_cases() {
  std::vector<OpCase> cases;
  for (const auto& family : {view_cases(), slice_cases(), concat_cases(), gather_cases(),
                             scatter_cases(), write_slice_cases(), sort_cases()})
    cases.insert(cases.end(), family.begin(), family.end());
  return cases;
}

}  // namespace rlx
