// The outputs of one of two bodies, by a condition that the run knows or reads back.

#include "rlx/ir/evaluate.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_control.h"

namespace rlx {
namespace {

Types body_types(const char* name, const Graph& body, const InferSite& site) {
  const Values inputs = body_inputs(body);
  require(inputs.size() == site.inputs.size() - 1, "if_else: body '", name, "' has ", inputs.size(),
          " inputs, there are ", site.inputs.size() - 1, " operands");
  Types operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_body_input("if_else", name, inputs[i].producer(), site.in(i + 1));
    operands.push_back(site.in(i + 1));
  }
  Types types = output_types(body, operands);
  const GivenSymbols given(body);
  for (size_t i = 0; i < types.size(); ++i)
    for (size_t d = 0; d < types[i].shape.size(); ++d)
      if (!given.tell(body.outputs()[i].value.shape()[d])) types[i].shape[d] = site.fresh();
  return types;
}

// An extent in which the bodies differ is known when one of them has run.
Types infer(const InferSite& site) {
  require(site.in(0).dtype == DType::boolean && count(site.in(0).shape).is(1),
          "if_else: the condition must be one bool, got ", site.in(0));
  Types then = body_types("then", *site.attrs.get<GraphPtr>("then"), site);
  const Types otherwise = body_types("else", *site.attrs.get<GraphPtr>("else"), site);
  bool alike = !then.empty() && then.size() == otherwise.size();
  for (size_t i = 0; alike && i < then.size(); ++i)
    alike = then[i].dtype == otherwise[i].dtype && rank(then[i]) == rank(otherwise[i]);
  require(alike, "if_else: the bodies must have outputs of the same dtypes and ranks, got ",
          joined(then), " and ", joined(otherwise));
  for (size_t i = 0; i < then.size(); ++i)
    for (size_t d = 0; d < then[i].shape.size(); ++d)
      if (!(then[i].shape[d] == otherwise[i].shape[d])) then[i].shape[d] = site.fresh();
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
    LoweredBody body = site.lower_body(site.attrs().get<GraphPtr>(name), inputs, std::nullopt);
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      const Dims &shape = site.results[i].shape, &own = body.outputs[i].shape;
      for (size_t d = 0; d < shape.size(); ++d)
        if (const auto symbol = shape[d].symbol(); symbol && !(own[d] == shape[d]))
          body.steps.add(Bind{*symbol, own[d]});
      body.steps.add(Copy{body.outputs[i].value, site.results[i].value});
    }
    return std::move(body.steps);
  };
  Steps then = branch("then"), otherwise = branch("else");
  return If{host_number(site, 0), std::move(then), std::move(otherwise)};
}

// The gradients of the body that ran, from its inputs and dy.
Gradients gradient(const GradientSite& site) {
  Values operands(site.inputs.begin() + 1, site.inputs.end()), seeds;
  std::vector<size_t> smooth_inputs, smooth_results;
  for (size_t i = 0; i < operands.size(); ++i)
    if (is_float(operands[i].dtype())) smooth_inputs.push_back(i);
  for (size_t i = 0; i < site.results.size(); ++i)
    if (site.result_gradients[i]) smooth_results.push_back(i), seeds.push_back(site.dy(i));
  Gradients gradients(site.inputs.size());
  if (smooth_inputs.empty()) return gradients;
  const auto backward = [&](const char* name) {
    Graph graph;
    Values inputs, dys, ys, xs;
    for (size_t i = 0; i < operands.size(); ++i)
      inputs.push_back(graph.input(text("x", i), operands[i].type()));
    const Values outputs = inline_body(*site.attrs().get<GraphPtr>(name), inputs, graph);
    for (const size_t i : smooth_results) {
      dys.push_back(graph.input(text("dy", i), site.y(i).type()));
      ys.push_back(outputs[i]);
      if (dys.back().type() !=
          outputs[i].type())  // a check of the body that did not run would fail
        fail(ErrorKind::unsupported, "if_else: no gradient of result ", i, ": it is ",
             outputs[i].type(), " in body '", name, "' and ", site.y(i).type(), " in general");
    }
    for (const size_t i : smooth_inputs) xs.push_back(inputs[i]);
    const Values dxs = site.sweep(ys, dys, xs);
    for (size_t i = 0; i < dxs.size(); ++i) graph.output(text("dx", i), dxs[i]);
    return graph;
  };
  Graph then = backward("then"), otherwise = backward("else");
  operands.insert(operands.end(), seeds.begin(), seeds.end());
  const Values results = if_else(site.in(0), operands, std::move(then), std::move(otherwise));
  for (size_t i = 0; i < results.size(); ++i) gradients[1 + smooth_inputs[i]] = results[i];
  return gradients;
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
      .gradient = gradient,
      .onnx = "If",
  };
  return op;
}

Values if_else(Value condition, const Values& inputs, Graph then, Graph otherwise) {
  Values operands{condition};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return results_of(condition.apply(
      if_else_op(), operands,
      {{"then", shared_graph(std::move(then))}, {"else", shared_graph(std::move(otherwise))}}));
}

}  // namespace rlx
