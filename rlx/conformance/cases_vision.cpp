// Rows for pictures and boxes: grid_sample, roi_align, deform_conv, non_max_suppression.

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_vision.h"

namespace rlx {
namespace {

OpCase with(OpCase row, SymbolValues symbols) {
  row.symbols = std::move(symbols);
  return row;
}

std::vector<OpCase> grid_sample_rows() {
  const auto attrs = [](const char* mode, const char* padding, bool corners) {
    return Attrs{{"mode", mode}, {"padding", padding}, {"align_corners", corners}};
  };
  std::vector<OpCase> cases;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const bool corners : {false, true})
        cases.push_back({"grid_sample",
                         {normal(f32({2, 3, 5, 7})), normal(f32({2, 4, 3, 2}))},
                         attrs(mode, padding, corners),
                         text(mode, ", ", padding, corners ? ", corners aligned" : ""),
                         16});
  const Attrs plain = attrs("linear", "zeros", false), mirror = attrs("cubic", "reflection", true);
  const CaseInput one = normal(f32({1, 1, 1, 1})), few = normal(f32({1, 3, 3, 2}));
  cases.insert(
      cases.end(),
      {
          {"grid_sample",
           {normal(f32({1, 3, 63, 65})), normal(f32({1, 61, 67, 2}))},
           plain,
           "more than 10,000 elements",
           4},
          {"grid_sample", {one, few}, mirror, "of one element", 16},
          {"grid_sample", {normal(f32({0, 3, 5, 7})), normal(f32({0, 4, 3, 2}))}, plain, "nothing"},
          {"grid_sample", {normal(f32({1, 2, 5, 7})), normal(f32({1, 0, 3, 2}))}, plain, "nowhere"},
          {"grid_sample",
           {special(f32({1, 2, 9, 9})), few},
           attrs("nearest", "border", false),
           "NaN and infinity"},
          {"grid_sample", {normal(f16({1, 2, 5, 7})), few}, plain, "f16, the grid in f32", 4},
          with({"grid_sample",
                {normal(f32({"n", 2, "h", 7})), normal(f32({"n", 3, "w", 2}))},
                plain,
                "symbolic extents",
                4},
               {{"n", 2}, {"h", 5}, {"w", 4}}),
          {"grid_sample",
           {normal(f32({1, 5, 7, 2})), few},
           {},
           "of a view",
           4,
           1,
           {},
           false,
           [](const Values& v) -> Values {
             return {grid_sample(transpose(v[0], {0, 3, 1, 2}), v[1])};
           }},
      });
  return cases;
}

std::vector<OpCase> roi_align_rows() {
  const auto rois = [](DType dtype, std::vector<double> corners) {
    const auto count = static_cast<int64_t>(corners.size() / 4);
    return given(Tensor::of(dtype, {count, 4}, std::span<const double>(corners)));
  };
  const auto pictures = [](std::vector<double> numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    return given(Tensor::of(DType::i64, {count}, std::span<const double>(numbers)));
  };
  const auto bins = [](int64_t height, int64_t width, int64_t samples, double scale) {
    return Attrs{{"height", height}, {"width", width}, {"samples", samples}, {"scale", scale}};
  };
  const auto also = [](Attrs attrs, const char* name, const Attr& value) {
    attrs.set(name, value);
    return attrs;
  };
  const CaseInput x = normal(f32({2, 3, 9, 11}));
  const CaseInput three =
      rois(DType::f32, {0.2, 1.3, 7.7, 6.1, -3, -2, 4.6, 20, 5.1, 5.2, 5.9, 5.8});
  const CaseInput of_both = pictures({0, 1, 1});
  std::vector<OpCase> cases = {
      {"roi_align", {x, three, of_both}, bins(3, 2, 2, 1), "beyond the edges", 16},
      {"roi_align", {x, three, of_both}, bins(2, 3, 0, 0.7), "as many samples as needed", 99},
      {"roi_align",
       {x, three, of_both},
       also(bins(3, 3, 2, 1), "half_pixel", false),
       "counted from the middle",
       16},
      {"roi_align", {x, three, of_both}, also(bins(2, 2, 3, 1), "mode", "max"), "the largest", 9},
      {"roi_align",
       {x, three, of_both},
       also(bins(2, 3, 0, 0.7), "mode", "max"),
       "the largest of as many as needed",
       9},
      {"roi_align", {x, rois(DType::f32, {}), pictures({})}, bins(3, 2, 0, 1), "none with samples"},
      {"roi_align",
       {normal(f32({1, 65, 33, 31})), rois(DType::f32, {1.5, 2.25, 30.1, 28.7}), pictures({0})},
       bins(13, 15, 2, 1),
       "more than 10,000 elements",
       16},
      {"roi_align",
       {x, rois(DType::f32, {0, 0, 1e30, 1e30}), pictures({1})},
       bins(1, 1, 0, 1),
       "a region without end"},
      {"roi_align", {x, rois(DType::f32, {}), pictures({})}, bins(3, 2, 2, 1), "no regions"},
      {"roi_align",
       {normal(f16({1, 2, 9, 11})), rois(DType::f16, {0.25, 1.5, 7.75, 6}), pictures({0})},
       bins(3, 2, 2, 1),
       "f16",
       16},
      with({"roi_align",
            {normal(f32({2, 1, "h", 11})), three, of_both},
            bins(3, 2, 2, 1),
            "a symbolic extent",
            16},
           {{"h", 9}}),
  };
  // A million points are sampled there.
  for (OpCase& row : cases) row.gradient = row.why != "a region without end";
  return cases;
}

std::vector<OpCase> deform_conv_rows() {
  const auto row = [](std::vector<CaseInput> inputs, const char* why, int64_t terms,
                      const DeformConvOptions& options, SymbolValues symbols = {}) {
    OpCase made{"deform_conv", std::move(inputs), {}, why, terms};
    made.symbols = std::move(symbols);
    made.compose = [options](const Values& in) -> Values {
      DeformConvOptions given = options;
      if (in.size() > 4) given.mask = in[4];
      return {deform_conv(in[0], in[1], in[2], in.size() > 3 ? in[3] : Value{}, given)};
    };
    return made;
  };
  const CaseInput x = normal(f32({2, 4, 5, 6})), w = normal(f32({3, 4, 3, 3})),
                  b = normal(f32({3}));
  return {
      row({x, w, normal(f32({2, 18, 3, 4}))}, "offsets alone", 36, {}),
      row({x, w, normal(f32({2, 18, 3, 4})), b, positive(f32({2, 9, 3, 4}))}, "a bias and a mask",
          36, {}),
      row({x, normal(f32({6, 2, 3, 2})), normal(f32({2, 24, 3, 3}))}, "strides, dilations and pads",
          12,
          {.strides = {2, 3},
           .dilations = {2, 1},
           .pads = {2, 1, 2, 2},
           .groups = 2,
           .offset_groups = 2}),
      row({normal(f16({1, 2, 4, 4})), normal(f16({2, 2, 2, 2})), normal(f16({1, 8, 3, 3}))}, "f16",
          8, {}),
      row({normal(f32({"n", 2, "h", 5})), normal(f32({2, 2, 1, 3})), normal(f32({"n", 6, "h", 3}))},
          "symbolic extents", 6, {}, {{"n", 2}, {"h", 4}}),
      row({normal(f32({0, 4, 5, 6})), w, normal(f32({0, 18, 3, 4}))}, "no pictures", 36, {}),
  };
}

std::vector<OpCase> suppression_rows() {
  const auto number = [](DType dtype, double value) {
    return given(Tensor::of(dtype, {1}, {value}));
  };
  const CaseInput most = number(DType::i64, 5), overlap = number(DType::f32, 0.4),
                  least = number(DType::f32, 0.1);
  return {
      {"non_max_suppression",
       {normal(f32({2, 65, 4})), normal(f32({2, 3, 65})), most, overlap, least},
       {},
       "batches and classes"},
      {"non_max_suppression",
       {positive(f32({1, 33, 4})), normal(f32({1, 1, 33})), most, overlap},
       {{"centred", true}},
       "boxes by their middles"},
      {"non_max_suppression",
       {normal(f32({1, 0, 4})), normal(f32({1, 2, 0})), most, overlap, least},
       {},
       "no boxes"},
      {"non_max_suppression", {normal(f32({1, 9, 4})), normal(f32({1, 1, 9}))}, {}, "none wanted"},
      {"non_max_suppression",
       {normal(f32({1, 300, 4})), normal(f32({1, 2, 300})), number(DType::i64, 9.2e18), overlap},
       {},
       "as many as there are"},
      {"non_max_suppression",
       {normal(f32({1, 9, 4})), normal(f32({1, 1, 9})), number(DType::i64, -3), overlap},
       {},
       "fewer than none"},
      {"non_max_suppression",
       {normal(f32({1, 37, 4})), special(f32({1, 3, 37})), number(DType::i64, 37), overlap},
       {},
       "equal scores, infinities, NaN"},
      {"non_max_suppression",
       {normal(f16({1, 33, 4})), normal(f16({1, 2, 33})), most, overlap, least},
       {},
       "f16"},
      with({"non_max_suppression",
            {normal(f32({1, "n", 4})), normal(f32({1, 2, "n"})), most, overlap},
            {},
            "a symbolic number of boxes"},
           {{"n", 17}}),
  };
}

}  // namespace

std::vector<OpCase> vision_cases() {
  std::vector<OpCase> all;
  for (const auto& cases :
       {grid_sample_rows(), roi_align_rows(), deform_conv_rows(), suppression_rows()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace rlx
