// Rows for the activations and for prelu.

#include "rlx/conformance/unary_cases.h"
#include "rlx/ops/ops_activation.h"

namespace rlx {
namespace {

using Cases = std::vector<OpCase>;

void add_activations(Cases& cases) {
  const UnaryCase ops[] = {
      {"relu"},
      {"leaky_relu", Domain::all, true, {{"alpha", 0.1}}},
      {"elu", Domain::all, true, {{"alpha", 0.7}}},
      {"selu"},
      {"celu", Domain::all, true, {{"alpha", 0.7}}},
      {"sigmoid"},
      {"hard_sigmoid", Domain::all, true, {{"alpha", 0.3}, {"beta", 0.4}}},
      {"silu"},
      {"hard_swish"},
      {"mish"},
      {"tanh"},
      {"softplus"},
      {"softsign"},
      {"gelu"},
      {"gelu_tanh"},
      {"thresholded_relu", Domain::all, true, {{"alpha", 0.3}}},
  };
  for (const UnaryCase& op : ops) add_unary_rows(op, cases);
  for (const DType dtype : {DType::i32, DType::i8, DType::i16, DType::u8, DType::u32, DType::i64})
    cases.push_back({.op = "relu", .inputs = {normal({dtype, {67}})}, .why = "an integer type"});
}

void add_hard_values(Cases& cases) {
  const auto row = [&](const char* op, const std::vector<double>& values, const char* why) {
    const Tensor x = Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
    cases.push_back({.op = op, .inputs = {given(x)}, .why = why, .gradient = false});
  };
  row("tanh", {1e-8, -1e-4, 0.2, 9, -9.2, 100, -1000}, "tiny and saturated");
  row("sigmoid", {-80, 80, -1000, 1000, 1e-8}, "saturated");
  row("softplus", {-80, 80, -1000, 1000, 1e-8}, "saturated");
  row("gelu", {-5, -8, -12, 5, 30, 1e-8}, "the tail below 0 keeps its digits");
  row("gelu_tanh", {-5, -8, 5, 30, 1e-8, 1e30, -1e30}, "the cube overflows");
  row("mish", {-80, -20, -1, 1e-8, 19, 21, 1e30, -1000}, "the tail below 0 keeps its digits");
  cases.push_back(
      {.op = "mish", .inputs = {normal(f32({70, 151}))}, .why = "many", .gradient = false});
  row("selu", {-80, -1e-8, 1e-8, 80, -1000}, "tiny and saturated");
  row("hard_sigmoid", {-2.5, -2.4999, 2.5, 2.4999, -80, 80}, "its corners");
  row("hard_swish", {-3, -2.9999, 3, 2.9999, -80, 80}, "its corners");
  row("thresholded_relu", {1, 1.0000001, 0.9999999, -5, 5}, "the threshold itself is not above it");
}

void add_prelu(Cases& cases) {
  const auto row = [&](CaseInput x, CaseInput slope, const char* why, SymbolValues symbols = {}) {
    cases.push_back({.op = "prelu",
                     .inputs = {std::move(x), std::move(slope)},
                     .why = why,
                     .symbols = std::move(symbols),
                     .compose = [](const Values& in) { return Values{prelu(in[0], in[1])}; }});
  };
  row(normal(f32({3, 65})), normal(f32({65})), "a slope for each column");
  row(normal(f32({2, 5, 7})), normal(f32({5, 1})), "a slope for each channel");
  row(special(f32({257})), normal(f32({})), "NaN and infinities");
  row(normal(f16({129})), normal(f16({1})), "halves");
  row(normal(f32({0, 3})), normal(f32({3})), "nothing to do");
  row(normal(f32({"n", 3})), normal(f32({3})), "a symbolic extent", {{"n", 7}});
}

}  // namespace

std::vector<OpCase> activation_cases() {
  Cases cases;
  add_activations(cases);
  add_hard_values(cases);
  add_prelu(cases);
  return cases;
}

}  // namespace rlx
