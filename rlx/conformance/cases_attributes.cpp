// Rows for attributes that no other row sets, for indices below zero, and small ones of ops whose
// others are too large to store what they should give (oracle.h).

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_signal.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

void add_numbers(Cases& cases) {
  cases.push_back({"is_inf",
                   {special(f32({67}))},
                   {{"detect_positive", 0.0}, {"detect_negative", 1.0}},
                   "only below zero"});
  cases.push_back({"selu", {normal(f32({67}))}, {{"alpha", 0.7}, {"gamma", 1.3}}, "others"});
  cases.push_back({"huber_loss", {normal(f32({5, 7}))}, {{"delta", 0.4}}, "a small delta"});
}

// An epsilon that can be seen.
void add_norms(Cases& cases) {
  const CaseInput x = normal(f32({2, 4, 5})), scale = normal(f32({4}));
  cases.push_back({"layer_norm", {x}, {{"epsilon", 0.3}}, "a large epsilon", 5});
  cases.push_back({"rms_norm", {x}, {{"epsilon", 0.3}}, "a large epsilon", 5});
  cases.push_back(
      {"group_norm", {x, scale, scale}, {{"groups", 2}, {"epsilon", 0.3}}, "a large epsilon", 10});
  cases.push_back({"batch_norm",
                   {x, scale, scale, normal(f32({4})), positive(f32({4}))},
                   {{"epsilon", 0.3}},
                   "a large epsilon"});
  cases.push_back(
      {.op = "instance_norm",
       .inputs = {normal(f32({1, 2, 3, 4})), normal(f32({2})), normal(f32({2}))},
       .why = "small pictures",
       .terms = 12,
       .compose = [](const Values& in) -> Values { return {instance_norm(in[0], in[1], in[2])}; }});
}

void add_windows(Cases& cases) {
  const CaseInput x = normal(f32({1, 2, 3, 2})), w = normal(f32({2, 2, 2, 3})),
                  bias = normal(f32({2}));
  cases.push_back({"conv_transpose",
                   {x, w, bias},
                   {{"strides", Ints{3, 2}}, {"output_padding", Ints{2, 1}}},
                   "a small one, padded",
                   12});
  // What conv's gradient asks for: y is larger than the windows reach, or smaller.
  cases.push_back({"conv_transpose",
                   {x, w, bias},
                   {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}, {"extents", Ints{7, 4}}},
                   "extents that are given",
                   12});
  cases.push_back({"im2col",
                   {normal(f32({1, 2, 4, 5}))},
                   {{"window", Ints{2, 2}}, {"strides", Ints{3, 2}}, {"ceil_mode", true}},
                   "ceil_mode: a window over the edge"});
  const auto back = [&](std::initializer_list<double> chosen, Attrs attrs, int64_t length,
                        const char* why) {
    const Tensor indices =
        Tensor::of(DType::i64, {1, 1, static_cast<int64_t>(chosen.size())}, chosen);
    attrs.set("shape", Dims{1, 1, length});
    cases.push_back({"max_pool_gradient",
                     {normal(f32({1, 1, static_cast<int64_t>(chosen.size())})), given(indices)},
                     attrs,
                     why,
                     2});
  };
  const auto window = [](int64_t taps, const std::string& name, const Attr& value) {
    return Attrs{{"window", Ints{taps}}, {name, value}};
  };
  Attrs apart = window(2, "dilations", Ints{2});
  apart.set("pads", Ints{1, 1});
  back({1, 2, 1, 4, 3}, apart, 5, "dilated and padded");
  Attrs over = window(2, "ceil_mode", true);
  over.set("strides", Ints{2});
  back({1, 2, 4}, over, 5, "ceil_mode: a window over the edge");
  back({1, 1, 2, 3}, window(3, "auto_pad", "same_upper"), 4, "same_upper");
  back({0, 1, 1, 3}, window(2, "auto_pad", "same_lower"), 4, "same_lower");
}

void add_resizes(Cases& cases) {
  const auto row = [&](const TensorType& dy, const Dims& shape, Attrs attrs, const char* why) {
    attrs.set("shape", shape);
    cases.push_back({"resize_gradient", {normal(dy)}, attrs, why, 36});
  };
  row(f32({7, 3}), {4, 6}, {{"mode", "nearest"}, {"rounding", "ceil"}}, "rounded up");
  row(f32({2, 7, 3}), {2, 4, 5}, {{"mode", "linear"}, {"axes", Ints{-2, -1}}}, "two axes");
  row(f32({6, 3}), {4, 5}, {{"mode", "linear"}, {"scales", Floats{1.7, 0.6}}}, "by scales");
  row(f32({6, 3}), {4, 5}, {{"mode", "linear"}, {"scales", Floats{1.7, 0.6}}, {"exact", true}},
      "by scales, in exact fractions");
  row(f32({4, 3}), {7, 5}, {{"mode", "linear"}, {"antialias", true}}, "antialiased");
  row(f32({9, 3}), {4, 5}, {{"mode", "cubic"}, {"exclude_outside", true}, {"cubic_a", -0.5}},
      "cubic, outside excluded");
  row(f32({6, 3}), {5, 6},
      {{"mode", "linear"},
       {"coordinates", "tf_crop_and_resize"},
       {"roi", Floats{-0.5, 0.2, 1.25, 1}},
       {"outside_value", 10.0}},
      "a crop beyond the edges");
}

void add_places(Cases& cases) {
  cases.push_back({"reshape", {normal(f32({3, 0})), list({0, 5})}, {{"allowzero", true}}, "to 0"});
  cases.push_back(
      {"scatter",
       {normal(f32({4, 3})), given(Tensor::of(DType::i64, {3}, {2, 0, 2})), normal(f32({3, 3}))},
       {{"reduction", "add"}, {"deterministic", true}},
       "added in order",
       3});
  const auto indices = [](Shape shape, std::initializer_list<double> list) {
    return given(Tensor::of(DType::i64, std::move(shape), list));
  };
  const char* const below = "indices that count from the end";
  const CaseInput table = normal(f32({4, 3})), rows = indices({3}, {-1, 0, -3});
  const CaseInput cells = indices({2, 3}, {-1, 0, -2, 1, -4, 2});
  const CaseInput corners = indices({3, 2}, {-1, 0, 0, -2, -3, -1});
  cases.push_back({"write_slice",
                   {normal(f32({2, 3, 4})), normal(f32({2, 2, 2})), list({0, 1, 1})},
                   {},
                   "a block inside"});
  cases.push_back({"causal_mask", {normal(f32({4, 7}))}, {{"window", 2}}, "three keys each"});
  cases.push_back({"gather_nd", {table, corners}, {}, below});
  cases.push_back({"scatter", {table, rows, normal(f32({3, 3}))}, {}, below});
  cases.push_back({"scatter_elements", {table, cells, normal(f32({2, 3}))}, {}, below});
  const CaseInput start = given(Tensor::scalar(DType::f32, -2)),
                  limit = given(Tensor::scalar(DType::f32, 1)),
                  delta = given(Tensor::scalar(DType::f32, 0.375));
  cases.push_back({"float_range", {start, limit, delta}, {}, "the limit is a step", 2});
}

void add_sequences(Cases& cases) {
  cases.push_back({"rnn",
                   {normal(f32({2, 2, 3})), normal(f32({1, 3, 3})), normal(f32({1, 3, 3}))},
                   {{"activations", Strings{"Affine"}},
                    {"activation_alpha", Floats{0.5}},
                    {"activation_beta", Floats{0.25}}},
                   "a line that misses zero",
                   16});
  // x * captured - row, with the iteration on top; what x was is stacked.
  Graph body;
  const Value iteration = body.input("iteration", i64({})), x = body.input("x", f32({4})),
              row = body.input("row", f32({4})), captured = body.input("captured", f32({4}));
  body.output("next", x * captured - row + cast(iteration, DType::f32));
  body.output("was", x);
  const GraphPtr shared = std::make_shared<const Graph>(std::move(body));
  for (const bool reverse : {false, true})
    cases.push_back(
        {.op = "loop",
         .inputs = {given(Tensor::scalar(DType::i64, 3)), normal(f32({4})), normal(f32({3, 4})),
                    normal(f32({4}))},
         .attrs = {{"body", shared}, {"scanned", 1}, {"captured", 1}, {"reverse", reverse}},
         .why = reverse ? "from the last row" : "from the first row",
         .terms = 9,
         .gradient = false});
}

void add_compositions(Cases& cases) {
  const auto row = [&](const char* op, std::vector<CaseInput> inputs, const char* why,
                       int64_t terms, std::function<Values(const Values&)> compose) {
    cases.push_back({op, std::move(inputs), {}, why, terms, 1, {}, false, std::move(compose)});
  };
  row("cosine_window", {given(Tensor::scalar(DType::i64, 9))}, "Hamming, symmetric", 8,
      [](const Values& in) -> Values {
        return {cosine_window(in[0], {0.54, 0.46}, false)};
      });
  row("dynamic_quantise", {normal(f32({3, 7}))}, "a few", 1, [](const Values& in) -> Values {
    const DynamicallyQuantised result = dynamic_quantise(in[0]);
    return {result.y, result.scale, result.zero_point};
  });
  row("dynamic_quantise", {positive(f32({7}))}, "a few above 0", 1, [](const Values& in) -> Values {
    const DynamicallyQuantised result = dynamic_quantise(in[0]);
    return {result.y, result.scale, result.zero_point};
  });
  row("requantise",
      {normal(i32({3, 5})), given(Tensor::scalar(DType::f32, 0.3)),
       given(Tensor::scalar(DType::u8, 2))},
      "a few", 1, [](const Values& in) -> Values { return {requantise(in[0], in[1], in[2])}; });
}

}  // namespace

std::vector<OpCase> attribute_cases() {
  Cases cases;
  add_numbers(cases);
  add_norms(cases);
  add_windows(cases);
  add_resizes(cases);
  add_places(cases);
  add_sequences(cases);
  add_compositions(cases);
  return cases;
}

}  // namespace rlx
