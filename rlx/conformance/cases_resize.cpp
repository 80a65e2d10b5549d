// Rows for resize and its gradient: every mode, rounding and way to find coordinates, up and down.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_resize.h"

namespace rlx {
namespace {

Attrs sized(Dims sizes, const char* mode, const char* coordinates = "half_pixel") {
  return {{"sizes", std::move(sizes)}, {"mode", mode}, {"coordinates", coordinates}};
}
Attrs scaled(Floats scales, const char* mode, const char* coordinates = "half_pixel") {
  return {{"scales", std::move(scales)}, {"mode", mode}, {"coordinates", coordinates}};
}
Attrs and_also(Attrs attrs, std::initializer_list<std::pair<const std::string, Attr>> more) {
  for (const auto& [name, value] : more) attrs.set(name, value);
  return attrs;
}

// Each rounding and each way to find coordinates, larger and smaller.
std::vector<OpCase> table_cases() {
  std::vector<OpCase> cases;
  for (const char* rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"})
      cases.push_back({"resize",
                       {normal(f32({4, 6}))},
                       and_also(sized({7, 3}, "nearest", coordinates), {{"rounding", rounding}}),
                       std::string(coordinates) + ", " + rounding,
                       6});
  for (const char* mode : {"linear", "cubic"})
    for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                    "align_corners", "asymmetric", "tf_half_pixel_for_nn"})
      cases.push_back({"resize",
                       {normal(f32({4, 5}))},
                       scaled({1.7, 0.6}, mode, coordinates),
                       std::string(mode) + ", " + coordinates,
                       16});
  return cases;
}

// Quotients that f32 has on the other side of an integer, or of a half.
std::vector<OpCase> float_cases() {
  std::vector<OpCase> cases;
  for (const float scale : {0.6F, 0.3F, 2.4F, 1.7F})
    for (const char* coordinates :
         {"half_pixel", "asymmetric", "tf_half_pixel_for_nn", "pytorch_half_pixel"})
      for (const char* rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
        cases.push_back(
            {"resize",
             {normal(f32({2, 257}))},
             and_also(scaled({1, double{scale}}, "nearest", coordinates), {{"rounding", rounding}}),
             text("in f32, ", coordinates, ", ", rounding, " of ", scale),
             6});
  const Attrs floor{{"axes", Ints{1}}, {"coordinates", "asymmetric"}, {"rounding", "floor"}};
  cases.push_back({"resize",
                   {normal(f32({2, 100}))},
                   and_also(floor, {{"sizes", Dims{240}}}),
                   "in f32, the quotient of extents",
                   6});
  for (const int64_t width : {240, 60, 200, 1})
    cases.push_back(with({"resize",
                          {normal(f32({2, "n"}))},
                          and_also(floor, {{"sizes", Dims{width}}}),
                          text("in f32, a symbolic extent to ", width),
                          200},
                         {{"n", 100}}));
  cases.push_back({"resize",
                   {normal(f32({2, 100}))},
                   and_also(floor, {{"scales", Floats{0.6}}, {"exact", true}}),
                   "in exact fractions",
                   6});
  for (const bool exact : {false, true})
    cases.push_back({"resize",
                     {normal(f32({16, 5}))},
                     and_also(scaled({0.6, 2.3}, "linear", "align_corners"), {{"exact", exact}}),
                     exact ? "the corner of the scaled extent" : "the corner of the last element",
                     9});
  return cases;
}

std::vector<OpCase> resize_rows() {
  const CaseInput picture = normal(f32({1, 2, 5, 7}));
  const Floats middle = {0.25, 0.4, 0.75, 0.6}, beyond = {-0.5, 0.2, 1.25, 1.0},
               turned = {0.9, 0, 0.1, 1};
  return {
      {"resize", {picture}, scaled({1, 1, 2, 2}, "nearest"), "twice as large", 6},
      {"resize",
       {picture},
       and_also(sized({9, 4}, "linear"), {{"axes", Ints{-2, -1}}}),
       "some axes",
       9},
      {"resize",
       {normal(f32({1, 3, 63, 65}))},
       and_also(sized({70, 33}, "linear"), {{"axes", Ints{2, 3}}}),
       "more than 10,000 elements",
       4},
      {"resize", {normal(f32({3, 4, 5}))}, sized({5, 3, 7}, "linear"), "three axes", 27},
      {"resize", {normal(f32({4, 5}))}, sized({1, 1}, "linear", "pytorch_half_pixel"), "to one", 4},
      {"resize",
       {normal(f32({4, 5}))},
       sized({1, 3}, "cubic", "align_corners"),
       "corners of one",
       16},
      {"resize", {normal(f32({1, 1}))}, sized({3, 5}, "cubic"), "from one", 99},
      {"resize",
       {normal(f32({9, 11}))},
       and_also(sized({4, 3}, "linear"), {{"antialias", true}}),
       "linear, antialiased",
       16},
      {"resize",
       {normal(f32({9, 11}))},
       and_also(sized({4, 13}, "cubic"), {{"antialias", true}}),
       "cubic, antialiased where it shrinks",
       40},
      {"resize",
       {normal(f32({9, 7}))},
       and_also(scaled({0.4, 0.7}, "cubic"), {{"antialias", true}, {"exclude_outside", true}}),
       "antialiased, outside excluded",
       40},
      {"resize",
       {normal(f32({4, 5}))},
       and_also(sized({9, 3}, "cubic"), {{"exclude_outside", true}, {"cubic_a", -0.5}}),
       "cubic, outside excluded",
       16},
      {"resize",
       {normal(f32({5, 6}))},
       and_also(sized({4, 3}, "linear", "tf_crop_and_resize"), {{"roi", middle}}),
       "a crop",
       9},
      {"resize",
       {normal(f32({5, 6}))},
       and_also(sized({6, 3}, "linear", "tf_crop_and_resize"),
                {{"roi", beyond}, {"outside_value", 10.0}}),
       "a crop beyond the edges",
       9},
      {"resize",
       {normal(f32({5, 6}))},
       and_also(sized({4, 1}, "cubic", "tf_crop_and_resize"), {{"roi", turned}}),
       "a crop turned round, and one to its middle",
       16},
      {"resize",
       {normal(f32({5, 6}))},
       and_also(sized({6, 3}, "nearest", "tf_crop_and_resize"), {{"roi", beyond}}),
       "the nearest of a crop",
       6},
      {"resize", {normal(f32({4, 6}))}, sized({4, 6}, "linear"), "as it was"},
      {"resize", {normal(f32({}))}, scaled({}, "linear"), "rank 0"},
      {"resize", {normal(f32({0, 4}))}, sized({0, 8}, "linear"), "nothing"},
      {"resize", {normal(f32({3, 4}))}, sized({0, 8}, "nearest"), "to nothing"},
      {"resize", {special(f32({9, 9}))}, sized({13, 5}, "nearest"), "NaN and infinity"},
      {"resize", {normal(f16({3, 5}))}, sized({5, 7}, "linear"), "f16", 4},
      {"resize", {normal(type(DType::bf16, {3, 5}))}, sized({5, 7}, "cubic"), "bf16", 16},
      {"resize", {normal(type(DType::u8, {3, 5}))}, sized({5, 7}, "nearest"), "packed integers"},
      {"resize", {normal(i64({3, 5}))}, sized({5, 3}, "nearest"), "i64"},
      {"resize", {normal(boolean({3, 5}))}, sized({5, 3}, "nearest"), "bool"},
      {"resize",
       {normal(f32({3, 5})), given(Tensor::of(DType::i64, {2}, {4, 9}))},
       {{"mode", "linear"}},
       "sizes known at run time",
       9},
      {"resize",
       {normal(f32({5, 3}))},
       {},
       "of a view",
       9,
       1,
       {},
       true,
       [](const Values& v) -> Values {
         return {resize(transpose(v[0], {1, 0}), {4, 9}, {.mode = "linear"})};
       }},
      with({"resize", {normal(f32({"h", 5}))}, scaled({2, 0.5}, "linear"), "symbolic, scaled", 9},
           {{"h", 3}}),
      with({"resize", {normal(f32({"h", 5}))}, sized({7, "h"}, "cubic"), "symbolic sizes", 16},
           {{"h", 3}}),
  };
}

std::vector<OpCase> gradient_rows() {
  const auto back = [](Dims shape, const char* mode, const char* coordinates = "half_pixel") {
    return Attrs{{"shape", std::move(shape)}, {"mode", mode}, {"coordinates", coordinates}};
  };
  return {
      {"resize_gradient", {normal(f32({7, 3}))}, back({4, 6}, "nearest"), "nearest", 6},
      {"resize_gradient", {normal(f32({70, 33}))}, back({35, 65}, "linear"), "linear", 16},
      {"resize_gradient", {positive(f32({257}))}, back({1}, "cubic"), "all to one", 257},
      {"resize_gradient", {normal(f32({1}))}, back({257}, "linear"), "one to few"},
      {"resize_gradient", {normal(f32({103, 101}))}, back({63, 150}, "cubic"), "many", 36},
      {"resize_gradient", {normal(f16({7, 3}))}, back({4, 6}, "linear", "align_corners"), "f16", 9},
      {"resize_gradient", {normal(f32({5, 3, 9}))}, back({7, 3, 4}, "cubic"), "one axis stays", 36},
      {"resize_gradient", {normal(f32({4, 3, 3}))}, back({4, 3, 3}, "linear"), "all of them stay"},
      {"resize_gradient", {special(f32({19, 7}))}, back({8, 11}, "linear"), "NaN and infinity", 9},
      {"resize_gradient", {normal(f32({0, 3}))}, back({0, 5}, "linear"), "nothing"},
      with({"resize_gradient", {normal(f32({7, "n"}))}, back({"n", 3}, "linear"), "symbolic", 9},
           {{"n", 5}}),
  };
}

}  // namespace

std::vector<OpCase> resize_cases() {
  std::vector<OpCase> cases;
  for (const auto& family : {table_cases(), float_cases(), resize_rows(), gradient_rows()})
    cases.insert(cases.end(), family.begin(), family.end());
  return cases;
}

}  // namespace rlx
