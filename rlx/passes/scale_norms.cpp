// A norm with statistics that are weights is x * scale + shift, per channel: both are computed
// once, and what is left are ops on single elements, which groups take in. Norms beside products
// have been folded into their weights before.

#include "rlx/ops/ops_core.h"
#include "rlx/passes/passes.h"
#include "rlx/passes/rules.h"

namespace rlx {
namespace {

// In narrower floats the product would be rounded before the shift is added.
bool is_f32(const Node& node) { return node.types[0].dtype == DType::f32; }

int64_t run(Changing& graph, NearMisses* misses) {
  static const Rules rules = [] {
    const Pattern x = any();
    const Pattern norm =
        op("batch_norm", {x, maybe(once()), maybe(once()), once(), once()}, is_f32);
    return Rules{{norm, [=](const Found& found) {
                    const Value mean = found.operand(norm, 3), gamma = found.operand(norm, 1),
                                beta = found.operand(norm, 2);
                    Value scale =
                        rsqrt(found.operand(norm, 4) +
                              scalar(mean, found.node(norm).attrs.get<double>("epsilon")));
                    if (gamma) scale = scale * gamma;
                    const Value shift = beta ? beta - mean * scale : -(mean * scale);
                    Dims channels(found.type().shape.size() - 1, Dim(1));
                    channels[0] = mean.shape()[0];
                    return found[x] * reshape(scale, channels) + reshape(shift, channels);
                  }}};
  }();
  return apply_rules(graph, rules, misses);
}

}  // namespace

const Pass scale_norms{"scale-norms", "Makes a scale and a shift of norms by known statistics.",
                       run};

}  // namespace rlx
