// gather_elements(x, indices, axis): for each index the element of x at its own coordinates, but at
// the index along `axis`.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/places.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& gather_elements_op();

namespace {

size_t axis_in(const Attrs& attrs, const TensorType& x) {
  return axis_of("gather_elements", attrs.get<int64_t>("axis"), x);
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const size_t axis = axis_in(site.attrs, x);
  check_element_indices(site, axis);
  return {{x.dtype, indices.shape}};
}

void reference(const ReferenceSite& site) {
  gather_places(site, element_places(site, axis_in(site.attrs, site.in(0).type())));
}

Steps lower(const LowerSite& site) {
  const size_t axis = axis_in(site.attrs(), site.in(0));
  return gather_places(site, flat(site.inputs[0]),
                       element_places(site.in(0), site.inputs[0].layout, site.in(1), axis));
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), indices = site.in(1);
  return {scatter_elements(zeros(x, x.shape()), indices, site.dy(),
                           site.attrs().get<int64_t>("axis"), "add"),
          std::nullopt};
}

}  // namespace

const OpDef& gather_elements_op() {
  static const OpDef op{
      .name = "gather_elements",
      .family = "indexing",
      .inputs = {2, 2, {"x", "indices"}},
      .attrs = {{"axis", 0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .onnx = "GatherElements",
  };
  return op;
}

Value gather_elements(Value x, Value indices, int64_t axis) {
  return x.apply(gather_elements_op(), {x, indices}, {{"axis", axis}});
}

}  // namespace rlx
