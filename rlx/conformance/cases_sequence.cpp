// Rows for state-space and linear-attention layers.

#include <cmath>

#include "rlx/conformance/op_cases.h"
#include "rlx/conformance/random.h"
#include "rlx/ops/ops_sequence.h"

namespace rlx {
namespace {

// Numbers between two bounds: scans of anything would soon be infinite.
CaseInput between(double low, double high, const Shape& shape, DType dtype = DType::f32) {
  Random random(text(low, '#', high, '#', joined(shape)));
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, low + (high - low) * random.uniform());
  return given(tensor);
}
CaseInput named_steps(CaseInput input) {
  input.type.shape[1] = "steps";
  return input;
}

struct Scan {
  int64_t batches, steps, channels, states, groups = 0;  // 0: b and c have no axis of groups
  DType dtype = DType::f32;
};
std::vector<CaseInput> scan_operands(const Scan& scan, bool with_state = false) {
  const Shape x{scan.batches, scan.steps, scan.channels};
  const Shape b = scan.groups ? Shape{scan.batches, scan.steps, scan.groups, scan.states}
                              : Shape{scan.batches, scan.steps, scan.states};
  std::vector<CaseInput> inputs{between(-2, 2, x, scan.dtype), between(0.01, 0.5, x, scan.dtype),
                                between(-2, -0.1, {scan.channels, scan.states}),
                                between(-1, 1, b, scan.dtype), between(-1.5, 1, b, scan.dtype)};
  if (with_state) inputs.push_back(between(-1, 1, {scan.batches, scan.channels, scan.states}));
  return inputs;
}

std::vector<OpCase> scan_cases() {
  const char* const op = "selective_scan";
  const Scan small{2, 5, 3, 4}, groups{2, 7, 6, 3, 2};
  std::vector<CaseInput> symbolic = scan_operands({2, 37, 3, 4}, true);
  for (const size_t i : {0, 1, 3, 4}) symbolic[i] = named_steps(symbolic[i]);
  std::vector<OpCase> cases = {
      {op, scan_operands(small), {}, "no state", 20},
      {op, scan_operands(small, true), {}, "from a state", 20},
      {op, scan_operands({1, 1, 1, 1}), {}, "all extents are 1", 4},
      {op, scan_operands({3, 1, 65, 16}, true), {}, "one step", 16},
      {op, scan_operands(groups, true), {}, "groups", 20},
      {op, scan_operands({1, 65, 3, 7}, true), {}, "longer than a chunk", 64},
      {op, scan_operands({1, 257, 5, 3}), {}, "many chunks", 64},
      {op, scan_operands({1, 33, 2, 257}, true), {}, "many states", 257},
      {op, scan_operands({1, 3, 1031, 2}), {}, "many channels", 8},
      {op, scan_operands({2, 0, 3, 4}, true), {}, "no steps"},
      {op, scan_operands({0, 5, 3, 4}, true), {}, "no sequences"},
      {op, scan_operands({2, 5, 0, 4}), {}, "no channels"},
      {op, scan_operands({2, 5, 3, 0}), {}, "no states"},
      {op, scan_operands({2, 9, 5, 4, 0, DType::f16}, true), {}, "the state stays f32", 20},
      {op, scan_operands({2, 9, 5, 4, 0, DType::bf16}), {}, "bf16", 20},
      with({op, symbolic, {}, "any number of steps", 64}, {{"steps", 37}}),
  };
  OpCase whole{op, scan_operands(small, true), {}, "delta_bias, softplus, D and z", 24};
  for (CaseInput& more :
       std::vector{between(-1, 1, {3}), between(-1, 1, {3}), between(-3, 3, {2, 5, 3})})
    whole.inputs.push_back(more);
  whole.compose = [](const Values& in) {
    return selective_scan(in[0], in[1], in[2], in[3], in[4],
                          {.skip = in[7],
                           .gate = in[8],
                           .delta_bias = in[6],
                           .delta_softplus = true,
                           .state = in[5]});
  };
  cases.push_back(whole);
  OpCase longest{op, scan_operands({1, 4096, 2, 256}, true), {}, "4,096 steps, 256 states", 256};
  longest.gradient = false;  // shorter rows see it
  cases.push_back(longest);

  const auto gradient_row = [&](const Scan& scan, bool states, const char* why, int64_t terms) {
    std::vector<CaseInput> inputs = scan_operands(scan, states);
    inputs.insert(inputs.begin() + 5,
                  between(-1, 1, {scan.batches, scan.steps, scan.channels}, scan.dtype));
    if (states) inputs.push_back(between(-2, 1, {scan.batches, scan.channels, scan.states}));
    cases.push_back({"selective_scan_gradient", inputs, {}, why, terms});
  };
  gradient_row(small, false, "no state", 20);
  gradient_row(groups, true, "groups, and a gradient of the last state", 20);
  gradient_row({1, 70, 5, 3}, true, "longer than two chunks", 70);
  gradient_row({1, 33, 67, 65}, false, "more states and channels than a workgroup", 257);
  gradient_row({1, 0, 3, 2}, true, "no steps", 1);
  gradient_row({2, 9, 3, 4, 0, DType::f16}, true, "f16", 20);
  std::vector<CaseInput> gradient_inputs = scan_operands({2, 37, 3, 4});
  gradient_inputs.push_back(between(-1, 1, {2, 37, 3}));
  for (const size_t i : {0, 1, 3, 4, 5}) gradient_inputs[i] = named_steps(gradient_inputs[i]);
  cases.push_back(with({"selective_scan_gradient", gradient_inputs, {}, "any number of steps", 64},
                       {{"steps", 37}}));
  return cases;
}

struct Delta {
  int64_t batches, steps, heads, keys, values;
  DType dtype = DType::f32;
  int64_t key_heads = 0;
};
std::vector<CaseInput> delta_operands(const Delta& net, bool with_state = false) {
  const int64_t key_heads = net.key_heads ? net.key_heads : net.heads;
  const double size = 1.5 / std::sqrt(static_cast<double>(std::max<int64_t>(net.keys, 1)));
  const Shape k{net.batches, net.steps, key_heads, net.keys},
      gate{net.batches, net.steps, net.heads};
  std::vector<CaseInput> inputs{
      between(-size, 1.1 * size, k, net.dtype), between(-1.1 * size, size, k, net.dtype),
      between(-2, 2, {net.batches, net.steps, net.heads, net.values}, net.dtype),
      between(-1, 0, gate, net.dtype), between(0, 1, gate, net.dtype)};
  if (with_state) inputs.push_back(between(-1, 1, {net.batches, net.heads, net.keys, net.values}));
  return inputs;
}

// Its gradient is a loop of many kernels, which other rows see.
OpCase forward_only(OpCase row) {
  row.gradient = false;
  return row;
}

std::vector<OpCase> delta_cases() {
  const char* const op = "gated_delta_net";
  const Delta small{2, 5, 2, 4, 3};
  std::vector<CaseInput> symbolic = delta_operands({2, 37, 2, 4, 3}, true);
  for (size_t i = 0; i < 5; ++i) symbolic[i] = named_steps(symbolic[i]);
  std::vector<OpCase> cases = {
      {op, delta_operands(small), {}, "no state", 20},
      {op, delta_operands(small, true), {{"scale", 2.0}}, "from a state, another scale", 20},
      {op, delta_operands({1, 1, 1, 1, 1}), {}, "all extents are 1", 4},
      forward_only({op, delta_operands({3, 1, 2, 65, 67}, true), {}, "one step", 65}),
      {op, delta_operands({1, 33, 1, 7, 5}, true), {}, "longer than a chunk", 64},
      forward_only({op, delta_operands({1, 257, 1, 3, 5}), {}, "many chunks", 64}),
      forward_only({op, delta_operands({1, 19, 1, 256, 65}, true), {}, "many keys", 256}),
      forward_only(
          {op, delta_operands({1, 4096, 1, 256, 3}, true), {}, "4,096 steps, 256 keys", 256}),
      forward_only({op, delta_operands({1, 3, 1, 2, 1031}, true), {}, "many values", 16}),
      {op, delta_operands({2, 0, 2, 4, 3}, true), {}, "no steps"},
      forward_only({op, delta_operands({0, 5, 2, 4, 3}, true), {}, "no sequences"}),
      forward_only({op, delta_operands({2, 5, 2, 4, 0}), {}, "no values"}),
      forward_only({op, delta_operands({2, 5, 2, 0, 3}), {}, "no keys"}),
      {op, delta_operands({2, 9, 2, 4, 3, DType::f16}, true), {}, "the state stays f32", 20},
      {op, delta_operands({2, 9, 2, 4, 3, DType::bf16}), {}, "bf16", 20},
      with({op, symbolic, {}, "any number of steps", 64}, {{"steps", 37}}),
  };
  OpCase shared{
      op, delta_operands({2, 6, 4, 3, 5, DType::f32, 2}), {}, "two heads of v for one of k", 20};
  shared.compose = [](const Values& in) {
    return gated_delta_net(in[0], in[1], in[2], in[3], in[4]);
  };
  cases.push_back(shared);
  return cases;
}

std::vector<OpCase> conv_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::vector<CaseInput> inputs, const char* why, int64_t terms,
                       std::function<Values(const Values&)> compose, SymbolValues symbols = {}) {
    cases.push_back({"causal_conv1d",
                     std::move(inputs),
                     {},
                     why,
                     terms,
                     1,
                     std::move(symbols),
                     true,
                     std::move(compose)});
  };
  const auto plain = [](const Values& in) { return causal_conv1d(in[0], in[1]); };
  const auto whole = [](const Values& in) {
    return causal_conv1d(in[0], in[1], {.bias = in[2], .state = in[3], .activation = "silu"});
  };
  const auto with_state = [](const Values& in) {
    return causal_conv1d(in[0], in[1], {.state = in[2]});
  };
  add({normal(f32({2, 7, 5})), normal(f32({5, 4}))}, "no state", 8, plain);
  add({normal(f32({2, 7, 5})), normal(f32({5, 4})), normal(f32({5})), normal(f32({2, 3, 5}))},
      "bias, state and silu", 8, whole);
  add({normal(f32({2, 1, 65})), normal(f32({65, 4})), normal(f32({2, 3, 65}))}, "one step", 8,
      with_state);
  add({normal(f32({1, 257, 67})), normal(f32({67, 3})), normal(f32({1, 2, 67}))}, "many steps", 8,
      with_state);
  add({normal(f32({2, 5, 3})), normal(f32({3, 1}))}, "one tap", 4, plain);
  add({normal(f32({2, 0, 3})), normal(f32({3, 4})), normal(f32({2, 3, 3}))}, "no steps", 4,
      with_state);
  add({normal(f32({2, "steps", 3})), normal(f32({3, 4})), normal(f32({2, 3, 3}))},
      "any number of steps", 8, with_state, {{"steps", 9}});
  add({normal(f16({2, 7, 5})), normal(f16({5, 4}))}, "f16", 8, plain);
  return cases;
}

}  // namespace

std::vector<OpCase> sequence_cases() {
  std::vector<OpCase> all = scan_cases();
  for (const auto rows : {delta_cases, conv_cases})
    for (OpCase& row : rows()) all.push_back(std::move(row));
  return all;
}

}  // namespace rlx
