// Rows for what rearranges, repeats, pads or makes tensors: tile, pad, range, trilu, eye_like,
// size_of, and the compositions of views.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rearrange.h"

namespace rlx {
namespace {

CaseInput one(DType dtype, double value) { return given(Tensor::scalar(dtype, value)); }

std::vector<OpCase> tile_cases() {
  const auto repeats = [](Dims list) { return Attrs{{"repeats", std::move(list)}}; };
  return {
      {"tile",
       {normal(f32({3})), one(DType::i32, 5), one(DType::i32, 2)},
       {},
       "as often as floats made of integers tell",
       1,
       1,
       {},
       false,
       [](const Values& v) -> Values {
         const Value often = ceil(cast(v[1] - v[2], DType::f32));
         return {tile(v[0], reshape(cast(often, DType::i64), {1}))};
       }},
      {"tile", {normal(f32({2, 3}))}, repeats({2, 2}), "both dims", 4},
      {"tile", {normal(f32({3, 1, 5}))}, repeats({1, 7, 3}), "some dims", 21},
      {"tile", {normal(f32({}))}, repeats({}), "rank 0"},
      {"tile", {normal(f32({3, 5}))}, repeats({1, 1}), "once"},
      {"tile", {normal(f32({3, 5}))}, repeats({0, 2}), "not at all"},
      {"tile", {normal(f32({0, 5}))}, repeats({3, 2}), "nothing"},
      {"tile", {normal(f32({63, 3}))}, repeats({5, 11}), "more than 10,000 elements", 55},
      {"tile", {special(f16({3, 3}))}, repeats({3, 1}), "f16 with NaN"},
      {"tile", {normal(i8({1, 3}))}, repeats({5, 3}), "packed integers"},
      {"tile", {normal(boolean({3}))}, repeats({3}), "bool"},
      {"tile", {normal(i64({2, 2})), list({2, 3})}, {}, "i64, repeats known at run time"},
      {"tile", {normal(f32({2, 3})), list({3, 2})}, {}, "repeats known at run time", 6},
      {"tile",
       {normal(f32({3, 5}))},
       {},
       "of a view",
       6,
       1,
       {},
       true,
       [](const Values& v) -> Values {
         return {tile(transpose(v[0], {1, 0}), Dims{2, 3})};
       }},
      with({"tile", {normal(f32({"n", 3}))}, repeats({2, 2}), "symbolic", 4}, {{"n", 5}}),
      with({"tile", {normal(f32({"n", 3}))}, repeats({"n", 1}), "symbolic repeats", 5}, {{"n", 5}}),
  };
}

std::vector<OpCase> pad_cases() {
  const auto pads = [](Dims list, const char* mode = "constant", double value = 0) {
    return Attrs{{"pads", std::move(list)}, {"mode", mode}, {"value", value}};
  };
  const CaseInput x = normal(f32({3, 5})), line = normal(f32({5}));
  return {
      {"pad", {x}, pads({1, 2, 0, 3}), "zeros around"},
      {"pad", {x}, pads({1, 2, 0, 3}, "constant", -1.5), "a value around"},
      {"pad", {x}, pads({-1, 2, 1, -2}), "added and taken off"},
      {"pad", {x}, pads({-2, 0, -1, 0}), "all taken off"},
      {"pad", {x}, pads({2, 4, 1, 3}, "reflect"), "reflected", 9},
      {"pad", {line}, pads({11, 9}, "reflect"), "reflected more than once", 9},
      {"pad", {normal(f32({1, 2}))}, pads({2, 0, 1, 3}, "reflect"), "reflecting one element", 9},
      {"pad", {x}, pads({2, 0, 1, 6}, "edge"), "its edges", 30},
      {"pad", {x}, pads({1, 2, 2, 13}, "wrap"), "itself again", 9},
      {"pad", {x}, pads({-1, 2, 1, -2}, "wrap"), "wrapped and taken off", 9},
      {"pad", {x}, pads({-1, 1, 1, -2}, "reflect"), "reflected and taken off", 9},
      {"pad",
       {normal(f32({2, 3, 4, 5}))},
       {{"pads", Ints{1, 2, 3, 1}}, {"axes", Ints{-2, -1}}},
       "some axes"},
      {"pad",
       {normal(f32({2, 3, 31, 33}))},
       {{"pads", Ints{5, 5, 6, 7}}, {"axes", Ints{2, 3}}, {"mode", "reflect"}},
       "a picture of more than 10,000 elements",
       9},
      {"pad", {normal(f32({}))}, pads({}), "rank 0"},
      {"pad", {normal(f32({0, 3}))}, pads({2, 0, 0, 1}, "constant", 4), "around nothing"},
      {"pad", {normal(f32({0, 3}))}, pads({0, 1, 0, 1}, "edge"), "nothing"},
      {"pad", {special(f16({3, 3}))}, pads({1, 0, 1, 2}, "edge"), "f16 with NaN"},
      {"pad", {special(f32({3, 9}))}, pads({1, 0, 1, 2}), "NaN and infinity"},
      {"pad", {normal(bf16({3, 3}))}, pads({1, 0, 1, 2}, "constant", 2.5), "bf16"},
      {"pad", {normal(i8({3, 3}))}, pads({1, 0, 1, 2}, "constant", -7), "packed integers"},
      {"pad", {normal(type(DType::u16, {5}))}, pads({1, 2}, "constant", 65535), "u16"},
      {"pad", {normal(boolean({3}))}, pads({2, 1}, "constant", 1), "bool"},
      {"pad", {normal(i64({3}))}, pads({2, 1}, "wrap"), "i64"},
      {"pad", {normal(type(DType::c64, {3}))}, pads({2, 1}), "c64"},
      {"pad", {x, list({1, 0, 2, -1})}, {}, "pads known at run time"},
      {"pad", {x, list({1, 0, 2, -1}), normal(f32({}))}, {}, "a value of the run", 12},
      {"pad", {normal(f16({3})), list({1, 2}), normal(f16({}))}, {}, "an f16 value"},
      {"pad", {x, list({1, 0, 2, -1})}, {{"mode", "edge"}}, "edges, pads known at run time", 9},
      {"pad",
       {normal(f32({4, 6}))},
       {},
       "of a view",
       9,
       1,
       {},
       true,
       [](const Values& v) -> Values {
         return {pad(slice(transpose(v[0], {1, 0}), {5}, {0}, {0}, {-2}), {1, 1, 2, 0}, "reflect")};
       }},
      with({"pad", {normal(f32({"n", 3}))}, pads({1, 0, 2, -1}), "symbolic"}, {{"n", 5}}),
      with({"pad", {normal(f32({"n", 3}))}, pads({1, 0, -3, 0}), "symbolic, taken off"},
           {{"n", 5}}),
      with(
          {"pad", {normal(f32({"n", 3}))}, pads({1, 0, 2, 1}, "reflect"), "symbolic, reflected", 9},
          {{"n", 5}}),
  };
}

std::vector<OpCase> range_cases() {
  const auto floats = [](double start, double limit, double delta, DType dtype) {
    return Attrs{{"floats", Floats{start, limit, delta}}, {"dtype", dtype}};
  };
  const auto integers = [](Dims bounds, DType dtype) {
    return Attrs{{"integers", std::move(bounds)}, {"dtype", dtype}};
  };
  const auto bounds = [](DType dtype, double start, double limit, double delta) {
    return std::vector<CaseInput>{one(dtype, start), one(dtype, limit), one(dtype, delta)};
  };
  return {
      {"range", {}, integers({0, 10001, 1}, DType::i64), "more than 10,000 elements"},
      {"range", {}, integers({10, -7, -3}, DType::i32), "downwards"},
      {"range", {}, integers({3, 3, 1}, DType::i32), "nothing"},
      {"range", {}, integers({3, 0, 1}, DType::i32), "the wrong way, nothing"},
      {"range", {}, integers({250, 256, 1}, DType::u8), "u8"},
      {"range", {}, integers({-5, 12, 4}, DType::i8), "i8"},
      {"range", {}, integers({5, 70, 9}, DType::u32), "u32"},
      {"range", {}, floats(-1, 1, 0.1, DType::f32), "floats", 2},
      {"range", {}, floats(1, -1, -0.25, DType::f16), "f16, downwards", 2},
      {"range", {}, floats(0, 1031, 1, DType::f32), "many floats", 2},
      {"range", {}, floats(2, 1, 0.5, DType::f32), "no floats"},
      {"float_range", bounds(DType::f32, 1, 5.5, 2), {}, "known when it runs"},
      {"float_range", bounds(DType::f16, 1, -1, -0.25), {}, "f16, downwards"},
      {"float_range", bounds(DType::f32, 2, 1, 0.5), {}, "the wrong way, nothing"},
      {"float_range", bounds(DType::f32, 0, 1031, 1), {}, "many"},
      {"range", bounds(DType::i64, 2, 17, 4), {}, "operands"},
      {"range", bounds(DType::i32, 9, -4, -5), {}, "i32 operands, downwards"},
      with({"range",
            {normal(f32({"n", 3}))},
            {},
            "as long as a symbolic dim",
            1,
            1,
            {},
            false,
            [](const Values& v) -> Values { return {counting(v[0], v[0].shape()[0])}; }},
           {{"n", 65}}),
  };
}

std::vector<OpCase> triangle_cases() {
  const auto half = [](bool upper, int64_t k) { return Attrs{{"upper", upper}, {"k", k}}; };
  const auto eye = [](DType dtype, int64_t k) { return Attrs{{"dtype", dtype}, {"k", k}}; };
  return {
      {"trilu", {normal(f32({4, 5}))}, {}, "the upper part"},
      {"trilu", {normal(f32({5, 4}))}, half(false, 0), "the lower part"},
      {"trilu", {normal(f32({2, 3, 65, 63}))}, half(true, 2), "a batch, more than 10,000 elements"},
      {"trilu", {normal(f32({3, 5}))}, half(false, -1), "below the diagonal"},
      {"trilu", {normal(f32({3, 5}))}, half(true, INT64_MIN), "all of it"},
      {"trilu", {normal(f32({3, 5}))}, half(false, INT64_MAX), "all of it, from the other side"},
      {"trilu", {normal(f32({3, 5}))}, half(true, 7), "none of it"},
      {"trilu", {normal(f32({0, 5}))}, {}, "empty"},
      {"trilu", {special(f32({9, 9}))}, half(false, 1), "NaN and infinity are gone too"},
      {"trilu", {special(f16({5, 3}))}, {}, "f16"},
      {"trilu", {normal(i8({5, 3}))}, half(false, 0), "packed integers"},
      {"trilu", {normal(i64({5, 3}))}, {}, "i64"},
      {"trilu", {normal(boolean({5, 5}))}, {}, "bool"},
      {"trilu", {normal(f32({5, 5})), one(DType::i64, -1)}, {}, "k known at run time"},
      with({"trilu", {normal(f32({"n", "n"}))}, half(false, 0), "symbolic"}, {{"n", 7}}),
      {"eye_like", {normal(f32({5, 5}))}, {}, "the identity"},
      {"eye_like", {normal(f32({3, 7}))}, eye(DType::f32, 2), "above the diagonal"},
      {"eye_like", {normal(f32({101, 103}))}, eye(DType::i32, -3), "below, more than 10,000"},
      {"eye_like", {normal(f32({3, 3}))}, eye(DType::f16, 0), "f16"},
      {"eye_like", {normal(f32({3, 3}))}, eye(DType::u8, 9), "packed, outside"},
      {"eye_like", {normal(f32({3, 3}))}, eye(DType::f32, INT64_MAX), "far outside"},
      {"eye_like", {normal(i64({3, 5}))}, eye(DType::boolean, 1), "bool"},
      {"eye_like", {normal(i64({0, 5}))}, {}, "empty"},
      with({"eye_like", {normal(f32({"n", 5}))}, {}, "symbolic"}, {{"n", 3}}),
      {"size_of", {normal(f32({3, 1, 7}))}, {}, "a number"},
      {"size_of", {normal(f16({}))}, {}, "of rank 0 it is 1"},
      {"size_of", {normal(f32({0, 5}))}, {}, "of nothing"},
      with({"size_of", {normal(f32({"n", 3, "m"}))}, {}, "symbolic"}, {{"n", 5}, {"m", 2}}),
  };
}

OpCase composed(const char* name, std::vector<CaseInput> inputs, const char* why,
                std::function<Values(const Values&)> compose, SymbolValues symbols = {}) {
  OpCase row{name, std::move(inputs), {}, why};
  row.symbols = std::move(symbols);
  row.compose = std::move(compose);
  return row;
}

std::vector<OpCase> flatten_cases() {
  const auto at = [](int64_t axis) {
    return [axis](const Values& v) -> Values { return {flatten(v[0], axis)}; };
  };
  const auto some = [](int64_t start, int64_t end) {
    return [start, end](const Values& v) -> Values { return {shape_of(v[0], start, end)}; };
  };
  return {
      composed("flatten", {normal(f32({2, 3, 5}))}, "from axis 1", at(1)),
      composed("flatten", {normal(f16({2, 3, 5}))}, "from the last axis, f16", at(-1)),
      composed("flatten", {normal(f32({2, 3}))}, "all in columns", at(0)),
      composed("flatten", {normal(f32({2, 3}))}, "all in rows", at(2)),
      composed("flatten", {normal(boolean({}))}, "from rank 0", at(0)),
      composed("flatten", {normal(f32({"n", 3, "m"}))}, "symbolic", at(2), {{"n", 3}, {"m", 5}}),
      composed("shape_of", {normal(f32({3, 1, 7}))}, "from the second dim", some(1, INT64_MAX)),
      composed("shape_of", {normal(f32({3, 1, 7}))}, "the last dim", some(-1, INT64_MAX)),
      composed("shape_of", {normal(f32({"n", 2, "m"}))}, "some symbolic", some(0, -1),
               {{"n", 3}, {"m", 65}}),
  };
}

std::vector<OpCase> split_cases() {
  const auto parts = [](int64_t count, int64_t axis) {
    return [count, axis](const Values& v) { return split(v[0], count, axis); };
  };
  const auto lengths = [](const Dims& list, int64_t axis) {
    return [list, axis](const Values& v) { return split(v[0], list, axis); };
  };
  return {
      composed("split", {normal(f32({6, 5}))}, "equal rows", parts(3, 0)),
      composed("split", {normal(f32({3, 65}))}, "a smaller last part", parts(4, -1)),
      composed("split", {normal(f32({3, 9}))}, "given lengths", lengths({2, 0, 7}, 1)),
      composed("split", {normal(f16({5, 3}))}, "f16", lengths({1, 4}, 0)),
      composed("split", {normal(i8({7}))}, "packed integers", parts(2, 0)),
      composed("split", {normal(f32({0, 3}))}, "nothing", parts(2, 0)),
      composed("split", {normal(f32({103, 101}))}, "more than 10,000 elements", parts(2, 1)),
      composed("split", {normal(f32({"n", 3}))}, "symbolic", parts(2, 0), {{"n", 7}}),
  };
}

std::vector<OpCase> turn_cases() {
  const auto turn = [](const Ints& axes) {
    return [axes](const Values& v) -> Values { return {reverse(v[0], axes)}; };
  };
  const auto rolled = [](const Ints& shifts, const Ints& axes) {
    return [shifts, axes](const Values& v) -> Values { return {roll(v[0], shifts, axes)}; };
  };
  return {
      composed("reverse", {normal(f32({3, 5}))}, "rows", turn({0})),
      composed("reverse", {normal(f32({3, 5, 2}))}, "two axes", turn({0, -1})),
      composed("reverse", {normal(f32({103, 101}))}, "more than 10,000 elements", turn({0, 1})),
      composed("reverse", {normal(f16({3, 5}))}, "f16", turn({1})),
      composed("reverse", {normal(i8({7}))}, "packed integers", turn({0})),
      composed("reverse", {normal(f32({0, 3}))}, "nothing", turn({0})),
      composed("reverse", {normal(f32({"n", 3}))}, "symbolic", turn({0}), {{"n", 5}}),
      composed("roll", {normal(f32({7}))}, "forwards", rolled({2}, {0})),
      composed("roll", {normal(f32({3, 5}))}, "two axes, backwards", rolled({-1, -7}, {0, -1})),
      composed("roll", {normal(f32({101, 103}))}, "more than 10,000", rolled({63}, {1})),
      composed("roll", {normal(f16({3, 5}))}, "f16", rolled({8}, {1})),
      composed("roll", {normal(boolean({5}))}, "bool", rolled({3}, {0})),
      composed("roll", {normal(f32({0, 3}))}, "nothing", rolled({1, 1}, {0, 1})),
      composed("roll", {normal(f32({"n", 3}))}, "symbolic", rolled({-2}, {0}), {{"n", 5}}),
  };
}

std::vector<OpCase> block_cases() {
  const auto spread = [](int64_t block, const char* mode) {
    return [block, mode](const Values& v) -> Values { return {depth_to_space(v[0], block, mode)}; };
  };
  const auto gathered = [](int64_t block) {
    return [block](const Values& v) -> Values { return {space_to_depth(v[0], block)}; };
  };
  const CaseInput deep = normal(f32({2, 8, 3, 5})), wide = normal(f32({2, 3, 6, 4}));
  return {
      composed("depth_to_space", {deep}, "blocks first", spread(2, "DCR")),
      composed("depth_to_space", {deep}, "channels first", spread(2, "CRD")),
      composed("depth_to_space", {normal(f32({1, 9, 33, 35}))}, "more than 10,000",
               spread(3, "CRD")),
      composed("depth_to_space", {normal(f16({1, 4, 3, 3}))}, "f16", spread(2, "DCR")),
      composed("depth_to_space", {normal(f32({0, 4, 3, 3}))}, "no pictures", spread(2, "DCR")),
      composed("depth_to_space", {normal(f32({"b", 8, "h", 3}))}, "symbolic", spread(2, "DCR"),
               {{"b", 2}, {"h", 3}}),
      composed("space_to_depth", {wide}, "pairs", gathered(2)),
      composed("space_to_depth", {normal(i8({1, 1, 6, 3}))}, "packed integers", gathered(3)),
      composed("space_to_depth", {normal(f16({1, 3, 4, 2}))}, "f16", gathered(2)),
      composed("space_to_depth", {normal(f32({"b", 3, 4, 6}))}, "symbolic", gathered(2),
               {{"b", 3}}),
  };
}

}  // namespace

std::vector<OpCase> shape_cases() {
  std::vector<OpCase> cases;
  for (const auto& family : {tile_cases(), pad_cases(), range_cases(), triangle_cases(),
                             flatten_cases(), split_cases(), turn_cases(), block_cases()})
    cases.insert(cases.end(), family.begin(), family.end());
  return cases;
}

}  // namespace rlx
