// fused(inputs): what its body computes of them, as one kernel where a device can: ops on single
// elements, and at most one other op whose operands they compute and whose result they finish.

#include "rlx/codegen/group.h"
#include "rlx/codegen/host_group.h"
#include "rlx/codegen/quads.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/bodies.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fused.h"

namespace rlx {
namespace {

const GraphPtr& body_of(const Attrs& attrs) { return attrs.get<GraphPtr>("body"); }

Types infer(const InferSite& site) {
  const Graph& body = *body_of(site.attrs);
  const Values inputs = body_inputs(body);
  require(inputs.size() == site.inputs.size(), "fused: the body has ", inputs.size(),
          " inputs, there are ", site.inputs.size(), " operands");
  Types operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_body_input("fused", "body", inputs[i].producer(), site.in(i));
    operands.push_back(site.in(i));
  }
  const GivenSymbols given(body);
  for (const GraphOutput& output : body.outputs())
    for (const Dim& dim : output.value.shape())
      require(given.tell(dim), "fused: output '", output.name, "' is ", output.value.type(),
              ", of which the inputs do not tell ", dim);
  return output_types(body, operands);
}

void reference(const ReferenceSite& site) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < site.inputs.size(); ++i) inputs.push_back(site.in(i));
  site.results = evaluate_body(*body_of(site.attrs), inputs, &site.symbols);
}

// Step by step where one kernel cannot do it all.
Steps lower(const LowerSite& site) {
  const std::shared_ptr<const Graph> own = site.instantiate(body_of(site.attrs()));
  if (auto steps = site.traits.on_host() ? lower_host_group(site, *own) : lower_group(site, *own))
    return *steps;
  LoweredBody body = site.lower_body(body_of(site.attrs()), site.inputs, std::nullopt);
  for (size_t i = 0; i < body.outputs.size(); ++i)
    body.steps.add(Copy{body.outputs[i].value, site.results[i].value});
  return std::move(body.steps);
}

Gradients gradient(const GradientSite& site) {
  // Operands may be made of each other: the body sees each by a name of its own, so that what leads
  // from one to another outside is not counted here.
  Values operands;
  for (const Value& input : site.inputs)
    operands.push_back(is_float(input.dtype()) ? reshape(input, input.shape()) : input);
  const Values outputs = append_graph(*body_of(site.attrs()), operands);
  Values ys, seeds, xs;
  std::vector<size_t> smooth;
  for (size_t r = 0; r < outputs.size(); ++r)
    if (site.result_gradients[r]) ys.push_back(outputs[r]), seeds.push_back(site.dy(r));
  for (size_t i = 0; i < site.inputs.size(); ++i)
    if (is_float(site.inputs[i].dtype())) smooth.push_back(i), xs.push_back(operands[i]);
  Gradients gradients(site.inputs.size());
  if (xs.empty()) return gradients;
  const Values dxs = site.sweep(ys, seeds, xs);
  for (size_t k = 0; k < smooth.size(); ++k) gradients[smooth[k]] = dxs[k];
  return gradients;
}

}  // namespace

const OpDef& fused_op() {
  static const OpDef op{
      .name = "fused",
      .family = "structure",
      .inputs = {0, kMany, {"inputs"}},
      .results = {1, kMany, {}},
      .attrs = {{"body"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {quads_variants()},
  };
  return op;
}

Values fused(const Values& inputs, Graph body) {
  require(!inputs.empty(), "fused: needs an input");
  return results_of(inputs[0].apply(fused_op(), inputs, {{"body", shared_graph(std::move(body))}}));
}

}  // namespace rlx
