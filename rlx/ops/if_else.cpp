// The outputs of one of two bodies, by a condition that the run knows or reads back.

#include "rlx/ir/evaluate.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

Types body_types(const char* name, const Graph& body, const InferSite& site, size_t first) {
  size_t next = first;
  for (const Node& node : body.nodes()) {
    if (!is_input(node)) continue;
    require(next < site.inputs.size(), "if_else: body '", name,
            "' has more inputs than there are operands");
    require(
        node.types[0].dtype == site.in(next).dtype && rank(node.types[0]) == rank(site.in(next)),
        "if_else: input '", node.name, "' of body '", name, "' is ", node.types[0],
        ", the operand is ", site.in(next));
    ++next;
  }
  require(next == site.inputs.size(), "if_else: body '", name, "' has ", next - first,
          " inputs, there are ", site.inputs.size() - first, " operands");
  Types types;
  for (const GraphOutput& output : body.outputs()) types.push_back(output.value.type());
  return types;
}

Types infer(const InferSite& site) {
  require(site.in(0).dtype == DType::boolean && count(site.in(0).shape).is(1),
          "if_else: the condition must be one bool, got ", site.in(0));
  const Types then = body_types("then", *site.attrs.get<GraphPtr>("then"), site, 1);
  const Types otherwise = body_types("else", *site.attrs.get<GraphPtr>("else"), site, 1);
  require(!then.empty() && then == otherwise,
          "if_else: the bodies must have the same outputs, got ", joined(then), " and ",
          joined(otherwise));
  return then;
}

void reference(const ReferenceSite& site) {
  const Graph& body = *site.attrs.get<GraphPtr>(site.in(0).at(0) != 0 ? "then" : "else");
  std::vector<Tensor> inputs;
  for (size_t i = 1; i < site.inputs.size(); ++i) inputs.push_back(site.in(i));
  site.results = evaluate_body(body, inputs);
}

Steps lower(const LowerSite& site) {
  const std::vector<Operand> inputs(site.inputs.begin() + 1, site.inputs.end());
  const auto branch = [&](const char* name) {
    LoweredBody body = site.lower_body(site.attrs().get<GraphPtr>(name), inputs, "");
    for (size_t i = 0; i < body.outputs.size(); ++i)
      body.steps.add(Copy{body.outputs[i].value, site.results[i].value});
    for (Step& step : body.steps.list) step.node = -1;
    return std::move(body.steps);
  };
  Steps then = branch("then"), otherwise = branch("else");
  return If{site.host(0).elements[0], std::move(then), std::move(otherwise)};
}

}  // namespace

const OpDef& if_else_op() {
  static const OpDef op{
      .name = "if_else",
      .family = "control flow",
      .inputs = {1, kMany, {"condition", "inputs"}},
      .results = {1, kMany, {}},
      .attrs = {{"then"}, {"else"}},
      .host_inputs = {0},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient_reason = "the sweep does not enter bodies",
      .onnx = "If",
  };
  return op;
}

Values if_else(Value condition, const Values& inputs, Graph then, Graph otherwise) {
  Values operands{condition};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  const Value first =
      condition.apply(if_else_op(), operands,
                      {{"then", std::make_shared<const Graph>(std::move(then))},
                       {"else", std::make_shared<const Graph>(std::move(otherwise))}});
  Values results;
  for (size_t i = 0; i < first.producer().types.size(); ++i)
    results.push_back(first.of(static_cast<int>(i)));
  return results;
}

}  // namespace rlx
