// size_of(x): how many elements x has, as one i64. It is an expression, so nothing is computed.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops.h"

namespace rlx {

const OpDef& size_of_op();

namespace {

Types infer(const InferSite&) { return {i64({})}; }

HostValue size_of(const TensorType& x) { return {{}, {count(x.shape)}}; }

std::optional<HostValue> symbolic(const InferSite& site) { return size_of(site.in(0)); }

void reference(const ReferenceSite& site) { site.out().set_integer(0, site.in(0).count()); }

Steps lower(const LowerSite& site) {
  return write_host_value(size_of(site.in(0)), site.results[0], site.traits);
}

Gradients gradient(const GradientSite&) { return {std::nullopt}; }

}  // namespace

const OpDef& size_of_op() {
  static const OpDef op{
      .name = "size_of",
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .symbolic = symbolic,
      .onnx = "Size",
  };
  return op;
}

Value size_of(Value x) { return x.apply(size_of_op(), {x}); }

}  // namespace rlx
