// Runs a body a number of times that the run knows or reads back; values are carried from one
// iteration to the next.

#include "rlx/ir/evaluate.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  require(is_integer(site.in(0).dtype) && count(site.in(0).shape).is(1),
          "loop: the count must be one integer, got ", site.in(0));
  const Graph& body = *site.attrs.get<GraphPtr>("body");
  std::vector<const Node*> inputs;
  for (const Node& node : body.nodes())
    if (is_input(node)) inputs.push_back(&node);
  require(inputs.size() == site.inputs.size(), "loop: the body has ", inputs.size(),
          " inputs, it needs the iteration and ", site.inputs.size() - 1, " carried values");
  require(inputs[0]->types[0] == TensorType{DType::i64, {}},
          "loop: the body's first input must be i64[], got ", inputs[0]->types[0]);
  require(body.outputs().size() == site.inputs.size() - 1, "loop: the body has ",
          body.outputs().size(), " outputs, there are ", site.inputs.size() - 1, " carried values");
  Types types;
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    require(body.outputs()[i - 1].value.type() == inputs[i]->types[0], "loop: carried value ",
            i - 1, " enters as ", inputs[i]->types[0], " and leaves as ",
            body.outputs()[i - 1].value.type());
    types.push_back(site.in(i));
  }
  require(!types.empty(), "loop: nothing is carried");
  return types;
}

void reference(const ReferenceSite& site) {
  const Graph& body = *site.attrs.get<GraphPtr>("body");
  std::vector<Tensor> carried;
  for (size_t i = 1; i < site.inputs.size(); ++i) carried.push_back(site.in(i));
  for (int64_t i = 0; i < site.in(0).integer_at(0); ++i) {
    std::vector<Tensor> inputs{Tensor::scalar(DType::i64, static_cast<double>(i))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    carried = evaluate_body(body, inputs);
  }
  for (size_t i = 0; i < carried.size(); ++i) site.results[i] = carried[i].copy();
}

// The results hold the carried values between iterations. A body's outputs go through temporaries,
// since one may be another's input.
Steps lower(const LowerSite& site) {
  Steps steps;
  const std::string counter = text("iteration.", site.results[0].value);
  std::vector<Operand> inputs{{"", -1, DType::i64, Access::read, {}, {}}};
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    const Operand from = site.inputs[i], to = site.results[i - 1];
    steps.append(site.copy(from, to));
    inputs.push_back(LowerSite::named(to, "", Access::read));
  }
  LoweredBody body = site.lower_body(site.attrs().get<GraphPtr>("body"), inputs, counter);
  std::vector<Operand> next;
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    next.push_back(site.temporary("next", site.out(i)));
    body.steps.add(Copy{body.outputs[i].value, next[i].value});
  }
  for (size_t i = 0; i < next.size(); ++i)
    body.steps.add(Copy{next[i].value, site.results[i].value});
  for (Step& step : body.steps.list) step.node = -1;
  steps.add(Loop{max(site.host(0).elements[0], 0), counter, std::move(body.steps)});
  return steps;
}

}  // namespace

const OpDef& loop_op() {
  static const OpDef op{
      .name = "loop",
      .family = "control flow",
      .inputs = {2, kMany, {"count", "carried"}},
      .results = {1, kMany, {}},
      .attrs = {{"body"}},
      .host_inputs = {0},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient_reason = "the sweep does not enter bodies",
      .onnx = "Loop",
  };
  return op;
}

Values loop(Value trip_count, const Values& carried, Graph body) {
  Values operands{trip_count};
  operands.insert(operands.end(), carried.begin(), carried.end());
  const Value first = trip_count.apply(loop_op(), operands,
                                       {{"body", std::make_shared<const Graph>(std::move(body))}});
  Values results;
  for (size_t i = 0; i < first.producer().types.size(); ++i)
    results.push_back(first.of(static_cast<int>(i)));
  return results;
}

}  // namespace rlx
