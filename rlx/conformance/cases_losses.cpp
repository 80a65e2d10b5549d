// Rows for losses, random numbers, sampling and quantisation.

#include <cmath>
#include <limits>

#include "rlx/conformance/op_cases.h"
#include "rlx/ops/ops_fake_quantise.h"
#include "rlx/ops/ops_loss.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_random.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;
using Compose = std::function<Values(const Values&)>;

CaseInput numbers(DType dtype, const std::vector<double>& values) {
  return given(Tensor::of(dtype, {static_cast<int64_t>(values.size())}, values));
}
CaseInput seed() { return numbers(DType::u32, {20231115, 7}); }

// ---- Losses ----

void add_cross_entropy(Cases& cases) {
  const auto row = [&](TensorType x, const Dims& labels, int64_t axis, const char* why,
                       const SymbolValues& symbols = {}) {
    const int64_t classes = x.shape[size_t(axis)].number();
    for (const bool logits : {true, false})
      cases.push_back({.op = "cross_entropy",
                       .inputs = {normal(x), index(i64(labels), classes)},
                       .attrs = {{"axis", axis}, {"logits", logits}},
                       .why = why,
                       .terms = classes,
                       .symbols = symbols});
  };
  row(f32({5, 7}), {5}, 1, "short rows, a lane each");
  row(f32({3, 1031}), {3}, 1, "longer than a workgroup");
  row(f32({2, 33, 5}), {2, 5}, 1, "classes in the middle");
  row(f32({67, 3}), {67}, 1, "more rows than a workgroup has lanes");
  row(f32({9}), {}, 0, "a single row");
  row(f32({0, 3}), {0}, 1, "nothing to do");
  row(f16({3, 65}), {3}, 1, "halves");
  row(f32({"n", 40}), {"n"}, 1, "a symbolic extent", {{"n", 5}});
  cases.push_back(
      {.op = "cross_entropy",
       .inputs = {given(Tensor::of(DType::f32, {3, 3}, {1000, 0, -1000, 88, 89, 90, -1e30, 0, 5})),
                  numbers(DType::i32, {2, 0, 1})},
       .why = "large logits do not overflow",
       .terms = 3,
       .gradient = false});
  const auto gradient = [&](TensorType x, const Dims& labels, int64_t axis, const char* why) {
    const int64_t classes = x.shape[size_t(axis)].number();
    for (const bool logits : {true, false})
      cases.push_back(
          {.op = "cross_entropy_dx",
           .inputs = {normal(x), index(i32(labels), classes), normal({x.dtype, labels})},
           .attrs = {{"axis", axis}, {"logits", logits}},
           .why = why,
           .terms = classes});
  };
  gradient(f32({5, 7}), {5}, 1, "short rows, a lane each");
  gradient(f32({2, 67, 3}), {2, 3}, 1, "classes in the middle, longer than a workgroup");
  gradient(f32({0, 3}), {0}, 1, "nothing to do");
  gradient(f16({3, 65}), {3}, 1, "halves");
}

void add_losses(Cases& cases) {
  const auto row = [&](const char* op, std::vector<CaseInput> inputs, const char* why,
                       Compose compose, int64_t terms = 1, SymbolValues symbols = {}) {
    cases.push_back({.op = op,
                     .inputs = std::move(inputs),
                     .why = why,
                     .terms = terms,
                     .symbols = std::move(symbols),
                     .compose = std::move(compose)});
  };
  const auto pair = [&](const char* op, auto loss) {
    const auto with = [loss](std::string reduction) {
      return [loss, reduction](const Values& in) { return Values{loss(in[0], in[1], reduction)}; };
    };
    row(op, {normal(f32({3, 65})), index(f32({3, 65}), 2)}, "every element", with("none"));
    row(op, {normal(f32({5, 7})), index(f32({7}), 2)}, "the mean, labels repeated", with("mean"),
        35);
    row(op, {normal(f32({2, 13})), normal(f32({2, 13}))}, "the sum", with("sum"), 26);
    row(op, {normal(f16({129})), normal(f16({129}))}, "halves", with("mean"), 129);
    row(op, {normal(f32({0})), normal(f32({0}))}, "nothing to add up", with("sum"));
    row(op, {normal(f32({"n", 3})), normal(f32({3}))}, "a symbolic extent", with("mean"), 21,
        {{"n", 7}});
    row(op, {numbers(DType::f32, {1000, -1000, 20, -20, 0}), numbers(DType::f32, {1, 0, 1, 0, 1})},
        "large and tiny losses", with("none"));
  };
  pair("binary_cross_entropy_with_logits", [](Value x, Value y, const std::string& r) {
    return binary_cross_entropy_with_logits(x, y, r);
  });
  pair("mse", [](Value x, Value y, const std::string& r) { return mse(x, y, r); });
  pair("huber", [](Value x, Value y, const std::string& r) { return huber(x, y, 0.7, r); });
  for (const char* op : {"binary_cross_entropy", "huber_loss"}) {
    const size_t operands = op[0] == 'b' ? 2 : 1;
    cases.push_back({.op = op,
                     .inputs = std::vector(operands, special(f32({257}))),
                     .why = "NaN and infinities"});
    cases.push_back(
        {.op = op, .inputs = std::vector(operands, normal(f32({3, 65}))), .why = "an odd number"});
    cases.push_back(
        {.op = op, .inputs = std::vector(operands, normal({DType::bf16, {63}})), .why = "bf16"});
  }

  const auto classes = [&](const char* op, auto loss) {
    const auto with = [loss](ClassLossOptions options) {
      return [loss, options](const Values& in) {
        return Values{loss(in[0], in[1], in.size() > 2 ? in[2] : Value{}, options)};
      };
    };
    row(op, {normal(f32({5, 7})), index(i64({5}), 7)}, "the mean of rows", with({}), 7);
    row(op, {normal(f32({5, 7})), index(i64({5}), 7)}, "each row", with({.reduction = "none"}), 7);
    row(op, {normal(f32({2, 5, 3})), index(i32({2, 3}), 5), positive(f32({5}))},
        "a weight for each class, which are axis 1", with({.axis = 1}), 15);
    row(op, {normal(f32({4, 5})), numbers(DType::i64, {3, -100, 0, 4})}, "a row that is ignored",
        with({.ignore_index = -100}), 5);
    row(op, {normal(f32({4, 5})), numbers(DType::i32, {3, 1, 0, 1}), positive(f32({5}))},
        "weights, and a class that is ignored", with({.reduction = "sum", .ignore_index = 1}), 20);
    row(op, {normal(f16({3, 65})), index(i64({3}), 65)}, "halves", with({.reduction = "none"}), 65);
    row(op, {normal(f32({"n", 9})), index(i64({"n"}), 9)}, "a symbolic extent", with({}), 9,
        {{"n", 5}});
  };
  classes("softmax_cross_entropy", softmax_cross_entropy);
  classes("nll_loss", nll_loss);
  row(
      "softmax_cross_entropy", {normal(f32({5, 7})), positive(f32({5, 7}))},
      "labels are probabilities",
      [](const Values& in) { return Values{softmax_cross_entropy(in[0], in[1])}; }, 35);
  row(
      "softmax_cross_entropy",
      {given(Tensor::of(DType::f32, {2, 3}, {1000, 0, -1000, 300, 301, 302})),
       given(Tensor::of(DType::f32, {2, 3}, {0.5, 0.5, 0, 0, 0, 1}))},
      "large logits, labels are probabilities",
      [](const Values& in) {
        return Values{softmax_cross_entropy(in[0], in[1], {}, {.reduction = "none"})};
      },
      3);
}

// ---- Random ----

void add_random(Cases& cases) {
  const auto row = [&](const char* op, CaseInput key, Attrs attrs, const char* why,
                       SymbolValues symbols = {}) {
    cases.push_back({.op = op,
                     .inputs = {std::move(key)},
                     .attrs = std::move(attrs),
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  for (const char* op : {"random_uniform", "random_normal"}) {
    row(op, seed(), {{"shape", Dims{3, 65}}}, "not a multiple of four");
    row(op, numbers(DType::i64, {-3}), {{"shape", Dims{1031}}, {"dtype", DType::f16}},
        "halves, a short key");
    row(op, seed(), {{"shape", Dims{63}}, {"dtype", DType::bf16}}, "bf16");
    row(op, seed(), {{"shape", Dims{0, 2}}}, "nothing to do");
    row(op, given(Tensor::scalar(DType::i32, 5)), {{"shape", Dims{}}}, "rank 0");
    row(op, seed(), {{"shape", Dims{20011}}}, "many");
  }
  const Attrs wide{{"shape", Dims{257}}, {"low", -3.0}, {"high", 5.0}};
  row("random_uniform", seed(), wide, "another range");
  row("random_normal", seed(), {{"shape", Dims{257}}, {"mean", 2.0}, {"deviation", 0.1}},
      "another mean");

  const auto drop = [&](CaseInput x, double ratio, const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "dropout",
                     .inputs = {x, seed()},
                     .attrs = {{"ratio", ratio}},
                     .why = why,
                     .symbols = symbols});
    cases.push_back({.op = "dropout_mask",
                     .inputs = {std::move(x), seed()},
                     .why = why,
                     .symbols = std::move(symbols),
                     .gradient = false,
                     .compose = [ratio](const Values& in) {
                       return Values{dropout_mask(in[0], in[1], ratio)};
                     }});
  };
  drop(normal(f32({3, 65})), 0.5, "half of them");
  drop(normal(f32({7})), 0, "none of them");
  drop(normal(f32({7})), 1, "all of them");
  drop(normal(f16({257})), 0.1, "halves");
  drop(special(f32({129})), 0.3, "NaN is dropped too");
  drop(normal(f32({0, 3})), 0.5, "nothing to do");
  drop(normal(f32({10007})), 0.9, "many");
  drop(normal(f32({"n", 3})), 0.4, "a symbolic extent", {{"n", 11}});
}

void add_sample(Cases& cases) {
  const auto row = [&](CaseInput logits, Attrs attrs, const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "sample",
                     .inputs = {std::move(logits), seed(), given(Tensor::scalar(DType::i64, 3))},
                     .attrs = std::move(attrs),
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  row(normal(f32({65, 7})), {}, "short rows");
  row(normal(f32({3, 1031})), {{"temperature", 0.7}}, "longer than a workgroup");
  row(normal(f32({9, 33})), {{"temperature", 0.0}}, "the largest");
  row(normal(f32({33, 257})), {{"top_k", 5}}, "the likeliest few");
  row(normal(f32({33, 257})), {{"top_p", 0.6}}, "the fewest that hold a share");
  row(normal(f32({33, 67})), {{"min_p", 0.2}}, "those not far below the largest");
  row(normal(f32({33, 257})),
      {{"temperature", 1.5}, {"top_k", 40}, {"top_p", 0.8}, {"min_p", 0.05}}, "all at once");
  row(normal(f16({5, 129})), {{"top_k", 3}}, "halves, some of them equal");
  row(given(Tensor(DType::f32, {9, 65})), {{"top_k", 5}}, "all are equal: the first five count");
  row(given(Tensor(DType::f32, {9, 65})), {{"top_p", 0.25}},
      "all are equal: the first quarter counts");
  row(given(Tensor::of(DType::f32, {2, 5}, {kNaN, 1, kNaN, 2, kNaN, -kInf, 3, -kInf, -kInf, kInf})),
      {}, "NaN is never drawn, infinity always");
  row(normal(f32({0, 4})), {}, "nothing to do");
  row(normal(f32({7})), {}, "a single row");
  row(normal(f32({"n", 40})), {{"top_k", 9}}, "a symbolic extent", {{"n", 5}});
  row(normal(f32({2, 20011})), {{"temperature", 0.8}, {"top_p", 0.9}}, "a vocabulary");
}

// ---- Quantisation ----

void add_quantise(Cases& cases) {
  const auto row = [&](const char* op, std::vector<CaseInput> inputs, Attrs attrs, const char* why,
                       SymbolValues symbols = {}) {
    cases.push_back({.op = op,
                     .inputs = std::move(inputs),
                     .attrs = std::move(attrs),
                     .why = why,
                     .symbols = std::move(symbols)});
  };
  const CaseInput step = given(Tensor::scalar(DType::f32, 0.02));
  for (const DType to : {DType::i8, DType::u8, DType::i16, DType::u16}) {
    row("quantise", {normal(f32({3, 67})), step, positive({to, {}})}, {{"to", to}},
        "every narrow integer");
    row("quantise", {special(f32({257})), step}, {{"to", to}}, "saturates; NaN is the zero point");
    row("dequantise", {special({to, {3, 67}}), positive(f32({67})), positive({to, {67}})}, {},
        "every narrow integer, a scale for each column");
  }
  row("quantise",
      {numbers(DType::f32, {0.25, 0.75, 1.25, -0.25, -0.75, 63.25, 1e30, -1e30}),
       given(Tensor::scalar(DType::f32, 0.5))},
      {{"to", DType::i8}}, "halves go to even");
  row("quantise", {normal(f16({5, 13})), positive(f16({5, 1})), positive({DType::i8, {5, 1}})},
      {{"to", DType::i8}}, "halves, a scale for each row");
  row("quantise", {normal(f32({0, 3})), step}, {}, "nothing to do");
  row("quantise", {normal(f32({"n", 3})), positive(f32({3}))}, {}, "a symbolic extent", {{"n", 7}});
  row("quantise", {normal(f32({20011})), step}, {}, "many");
  row("dequantise", {normal(i32({65})), positive(f32({}))}, {},
      "i32, which sums of products are in");
  row("dequantise", {normal({DType::i8, {129}}), positive(f16({}))}, {}, "to halves");
  row("dequantise", {normal({DType::u8, {0}}), positive(f32({}))}, {}, "nothing to do");
  row("dequantise", {normal({DType::u8, {"n", 3}}), positive(f32({3}))}, {}, "a symbolic extent",
      {{"n", 7}});
  for (const int bits : {8, 4, 2}) {
    row("fake_quantise", {normal(f32({3, 65})), step}, {{"bits", bits}}, "few bits");
    row("fake_quantise", {normal(f32({3, 65})), positive(f32({3, 1}))},
        {{"bits", bits}, {"estimator", "plain"}}, "a scale for each row");
    cases.back().gradient = false;
    cases[cases.size() - 2].gradient = false;  // straight through: differences cannot tell
  }
  row("fake_quantise", {special(f32({257})), step}, {}, "NaN and infinities");
  row("fake_quantise", {normal(f16({129})), positive(f16({}))}, {{"bits", 4}}, "halves");

  const auto compose = [&](const char* op, std::vector<CaseInput> inputs, const char* why,
                           Compose function) {
    cases.push_back({.op = op,
                     .inputs = std::move(inputs),
                     .why = why,
                     .gradient = false,
                     .compose = std::move(function)});
  };
  const auto faked = [](FakeQuantiseOptions options) {
    return [options](const Values& in) mutable {
      if (in.size() > 1) options.scale = in[1];
      const FakeQuantised made = fake_quantise(in[0], options);
      return Values{made.y, made.scale};
    };
  };
  using Scale = FakeQuantiseOptions::Scale;
  compose("fake_quantise", {normal(f32({3, 65}))}, "scale of the batch, 4 bits",
          faked({.bits = 4}));
  compose("fake_quantise", {normal(f32({3, 65, 2}))}, "scale of the batch for axis 1",
          faked({.axis = 1}));
  compose("fake_quantise", {normal(f32({"n", 5})), positive(f32({5}))},
          "a moving average for axis 1", faked({.by = Scale::moving_average, .axis = -1}));
  cases.back().symbols = {{"n", 7}};
  compose("fake_quantise", {normal(f32({3, 65})), positive(f32({3}))}, "a given scale for axis 0",
          faked({.by = Scale::fixed, .axis = 0}));
  compose("fake_quantise", {normal(f32({3, 65})), positive(f32({}))}, "a learned scale",
          faked({.by = Scale::learned}));

  const auto with = [](auto function, QuantiseOptions options) {
    return [function, options](const Values& in) {
      return Values{function(in[0], in[1], in.size() > 2 ? in[2] : Value{}, options)};
    };
  };
  compose("quantise", {normal(f32({2, 5, 3})), positive(f32({5})), positive({DType::u8, {5}})},
          "a scale for each channel", with(quantise, {}));
  compose("quantise", {normal(f32({5, 3})), positive(f32({5}))}, "the first axis, no zero point",
          with(quantise, {.to = DType::i16, .axis = 0}));
  compose("quantise", {normal(f32({4, 6})), positive(f32({4, 2})), positive({DType::i8, {4, 2}})},
          "blocks of three", with(quantise, {.axis = 1, .block = 3}));
  compose("quantise", {normal(f32({7, 2})), positive(f32({3, 2}))}, "the last block is short",
          with(quantise, {.axis = 0, .block = 3}));
  compose("dequantise", {normal({DType::i8, {2, 5, 3}}), positive(f32({5}))},
          "a scale for each channel", with(dequantise, {}));
  compose("dequantise",
          {normal({DType::u8, {4, 6}}), positive(f32({4, 2})), positive({DType::u8, {4, 2}})},
          "blocks of three", with(dequantise, {.axis = 1, .block = 3}));
  compose("dequantise", {normal({DType::u8, {7, 2}}), positive(f32({3, 2}))},
          "the last block is short", with(dequantise, {.axis = 0, .block = 3}));
  const auto dynamic = [](const Values& in) {
    const DynamicallyQuantised result = dynamic_quantise(in[0]);
    return Values{result.y, result.scale, result.zero_point};
  };
  compose("dynamic_quantise", {normal(f32({3, 65}))}, "both signs", dynamic);
  compose("dynamic_quantise", {positive(f32({1031}))}, "all above 0, which counts", dynamic);
  compose("dynamic_quantise", {given(Tensor(DType::f32, {7}))}, "all zeros", dynamic);
  compose("dynamic_quantise", {normal(f32({0}))}, "nothing to do", dynamic);
}

}  // namespace

std::vector<OpCase> losses_cases() {
  Cases cases;
  add_cross_entropy(cases);
  add_losses(cases);
  add_random(cases);
  add_sample(cases);
  add_quantise(cases);
  return cases;
}

}  // namespace rlx
