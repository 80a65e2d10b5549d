// Rows for lstm, gru and rnn.

#include "rlx/conformance/op_cases.h"

namespace rlx {
namespace {

struct Net {
  std::string op;
  int64_t gates, steps, batches, inputs, hidden, directions = 1;
  DType dtype = DType::f32;
};

// x, w and r, with x laid out as `layout` says.
std::vector<CaseInput> operands(const Net& net, bool batch_first = false) {
  const int64_t rows = net.gates * net.hidden;
  const Dims x = batch_first ? Dims{net.batches, net.steps, net.inputs}
                             : Dims{net.steps, net.batches, net.inputs};
  return {normal({net.dtype, x}), normal({net.dtype, {net.directions, rows, net.inputs}}),
          normal({net.dtype, {net.directions, rows, net.hidden}})};
}

std::vector<CaseInput> with(std::vector<CaseInput> inputs, std::vector<CaseInput> more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

CaseInput bias(const Net& net) {
  return normal({net.dtype, {net.directions, 2 * net.gates * net.hidden}});
}
CaseInput state(const Net& net, bool batch_first = false) {
  return normal({net.dtype, batch_first ? Dims{net.batches, net.directions, net.hidden}
                                        : Dims{net.directions, net.batches, net.hidden}});
}
CaseInput lengths(std::initializer_list<double> list) {
  return given(Tensor::of(DType::i32, {static_cast<int64_t>(list.size())}, list));
}

// What all three have in common.
std::vector<OpCase> common_cases(const std::string& op, int64_t gates) {
  const Net small{op, gates, 3, 2, 4, 5}, both{op, gates, 4, 3, 3, 2, 2},
      wide{op, gates, 2, 3, 65, 67}, single{op, gates, 1, 1, 1, 1}, none{op, gates, 0, 2, 3, 2},
      half{op, gates, 3, 2, 4, 5, 1, DType::f16}, no_batch{op, gates, 2, 0, 3, 2},
      brain{op, gates, 2, 2, 3, 5, 1, DType::bf16}, one{op, gates, 1, 3, 4, 5, 2},
      one_half{op, gates, 1, 3, 4, 5, 1, DType::f16};
  const Attrs backwards = {{"direction", "reverse"}}, two = {{"direction", "bidirectional"}};
  const Attrs batch_first = {{"direction", "bidirectional"}, {"layout", 1}};
  std::vector<OpCase> cases = {
      {op, operands(small), {}, "no bias, no state", 30},
      {op, with(operands(small), {bias(small), absent(), state(small)}), backwards, "reverse", 30},
      {op, with(operands(both), {bias(both)}), two, "both directions", 30},
      {op, with(operands(both), {bias(both), lengths({4, 1, 0}), state(both)}), two,
       "sequences of different lengths, one empty", 30},
      {op, with(operands(both, true), {bias(both), lengths({2, 4, 3}), state(both, true)}),
       batch_first, "batches come first", 30},
      {op, operands(small, true), {{"layout", 1}}, "batches come first, one direction", 30},
      {op, with(operands(wide), {bias(wide)}), {}, "more units than a workgroup has lanes", 260},
      {op, operands(single), {}, "all extents are 1", 4},
      {op, with(operands(none), {bias(none), absent(), state(none)}), {}, "no steps", 1},
      {op, operands(no_batch), {}, "no sequences", 1},
      {op, with(operands(half), {bias(half), absent(), state(half)}), {}, "f16", 30},
      {op, operands(brain), {{"layout", 1}}, "bf16", 30},
      {op, with(operands(small), {bias(small)}), {{"clip", 0.7}}, "clipped", 30},
      {op, with(operands(one), {bias(one), absent(), state(one)}), two, "a single step", 30},
      {op, with(operands(one, true), {absent(), absent(), state(one, true)}), batch_first,
       "a single step, batches come first", 30},
      {op, with(operands(one), {bias(one), lengths({0, 1, 1}), state(one)}), two,
       "a single step, which one sequence does not take", 30},
      {op, operands(one_half), {}, "a single step of f16", 30},
  };
  OpCase symbolic{
      op,
      {normal(f32({"s", "b", 3})), normal(f32({1, gates * 4, 3})), normal(f32({1, gates * 4, 4}))},
      {},
      "symbolic",
      30};
  symbolic.symbols = {{"s", 5}, {"b", 2}};
  cases.push_back(symbolic);
  return cases;
}

Attrs activations(Strings names, Floats alpha = {}, Floats beta = {}) {
  return {{"activations", std::move(names)},
          {"activation_alpha", std::move(alpha)},
          {"activation_beta", std::move(beta)}};
}

std::vector<OpCase> lstm_cases() {
  const Net small{"lstm", 4, 3, 2, 4, 5}, both{"lstm", 4, 3, 2, 3, 2, 2},
      once{"lstm", 4, 1, 2, 4, 5};
  std::vector<OpCase> cases = common_cases("lstm", 4);
  const CaseInput peepholes = normal(f32({1, 15}));
  const std::vector<OpCase> own = {
      {"lstm",
       with(operands(small), {bias(small), absent(), state(small), state(small), peepholes}),
       {},
       "every state, and peepholes",
       30},
      {"lstm",
       with(operands(both),
            {bias(both), lengths({1, 3}), state(both), state(both), normal(f32({2, 6}))}),
       {{"direction", "bidirectional"}, {"clip", 1.5}},
       "all eight operands",
       30},
      {"lstm", operands(small), {{"input_forget", true}}, "coupled gates", 30},
      {"lstm",
       with(operands(once), {bias(once), absent(), state(once), state(once), peepholes}),
       {},
       "a single step with every state, and peepholes",
       30},
      {"lstm", operands(small),
       activations({"HardSigmoid", "Softsign", "ScaledTanh"}, {0.3, 1.5}, {0.4, 0.5}),
       "other activations", 30},
  };
  cases.insert(cases.end(), own.begin(), own.end());
  return cases;
}

std::vector<OpCase> gru_cases() {
  const Net both{"gru", 3, 4, 2, 3, 5, 2};
  std::vector<OpCase> cases = common_cases("gru", 3);
  Attrs mixed = activations({"Sigmoid", "Relu", "HardSigmoid", "LeakyRelu"}, {0.25, 0.125}, {0.5});
  mixed.set("direction", "bidirectional");
  const Attrs linear = {{"linear_before_reset", true}, {"direction", "bidirectional"}};
  const std::vector<OpCase> own = {
      {"gru", with(operands(both), {bias(both), lengths({3, 2}), state(both)}), linear,
       "the candidate's sum is scaled", 30},
      {"gru", operands(both), mixed, "activations of each direction", 30},
  };
  cases.insert(cases.end(), own.begin(), own.end());
  return cases;
}

std::vector<OpCase> rnn_cases() {
  const Net small{"rnn", 1, 2, 2, 3, 3};
  std::vector<OpCase> cases = common_cases("rnn", 1);
  const std::pair<const char*, Floats> others[] = {{"Affine", {0.5}}, {"Elu", {}},
                                                   {"Relu", {}},      {"ThresholdedRelu", {}},
                                                   {"Softplus", {}},  {"LeakyRelu", {}}};
  for (const auto& [name, alpha] : others)
    cases.push_back({"rnn", operands(small), activations({name}, alpha), name, 16});
  return cases;
}

}  // namespace

std::vector<OpCase> recurrent_cases() {
  std::vector<OpCase> all = lstm_cases();
  for (const auto rows : {gru_cases, rnn_cases})
    for (OpCase& row : rows()) all.push_back(std::move(row));
  return all;
}

}  // namespace rlx
