// shape_of(x): the dims of x as i64[rank]. They are expressions, so nothing is computed for them.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/ops.h"

namespace rlx {

const OpDef& shape_of_op();

namespace {

Types infer(const InferSite& site) { return {i64({rank(site.in(0))})}; }

HostValue dims_of(const TensorType& x) { return {{rank(x)}, {x.shape.begin(), x.shape.end()}}; }

std::optional<HostValue> symbolic(const InferSite& site) { return dims_of(site.in(0)); }

void reference(const ReferenceSite& site) {
  const Shape& shape = site.in(0).shape();
  for (size_t d = 0; d < shape.size(); ++d)
    site.out().set_integer(static_cast<int64_t>(d), shape[d]);
}

Steps lower(const LowerSite& site) {
  return write_host_value(dims_of(site.in(0)), site.results[0], site.traits);
}

Gradients gradient(const GradientSite&) { return {std::nullopt}; }

}  // namespace

const OpDef& shape_of_op() {
  static const OpDef op{
      .name = "shape_of",
      .family = "shape",
      .inputs = {1, 1, {"x"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .symbolic = symbolic,
      .onnx = "Shape",
  };
  return op;
}

Value shape_of(Value x) { return x.apply(shape_of_op(), {x}); }

}  // namespace rlx
