// stop_gradient(x) = x, which no gradient passes; a view, so it costs nothing.

#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) { return {site.in(0)}; }
void reference(const ReferenceSite& site) { site.out() = site.in(0); }
Gradients gradient(const GradientSite&) { return {std::nullopt}; }
std::optional<Layout> view(const ViewSite& site) { return site.input; }
std::optional<HostValue> symbolic(const InferSite& site) {
  return site.has_host(0) ? std::optional(site.host(0)) : std::nullopt;
}

}  // namespace

const OpDef& stop_gradient_op() {
  static const OpDef op{
      .name = "stop_gradient",
      .family = "elementwise",
      .inputs = {1, 1, {"x"}},
      .infer = infer,
      .reference = reference,
      .lower = copy_of_view,
      .gradient = gradient,
      .view = view,
      .symbolic = symbolic,
      .never_fails = true,
      .onnx = "Identity",
  };
  return op;
}

Value stop_gradient(Value x) { return x.apply(stop_gradient_op(), {x}); }

}  // namespace rlx
