// scatter_elements(x, indices, updates, axis, reduction): x with the element at the coordinates of
// each update, but indices[..] along `axis`, replaced by it or combined with it. Of duplicates the
// last one replaces.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/scattering.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& scatter_elements_op();

namespace {

size_t axis_in(const Attrs& attrs, const TensorType& x) {
  return axis_of("scatter_elements", attrs.get<int64_t>("axis"), x);
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1), &updates = site.in(2);
  const size_t axis = axis_in(site.attrs, x);
  check_element_indices(site, axis);
  require(rank(updates) == rank(x), "scatter_elements: updates ", updates, " do not fit ", x);
  check_scatter(site);
  for (size_t d = 0; d < x.shape.size(); ++d)
    site.equal(updates.shape[d], indices.shape[d],
               text("dim ", d, " of updates ", updates, " at ", indices));
  return {x};
}

void reference(const ReferenceSite& site) {
  scatter_reference(site, element_places(site, axis_in(site.attrs, site.in(0).type())));
}

Steps lower(const LowerSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const size_t axis = axis_in(site.attrs(), x);
  const Dim inner = product(indices.shape, axis + 1, x.shape.size());
  return lower_scatter(site, {element_places(x, Layout::row_major(x.shape), indices, axis),
                              product(indices.shape, 0, axis) * inner, indices.shape[axis], inner});
}

Gradients gradient(const GradientSite& site) {
  const Value indices = site.in(1);
  const int64_t axis = site.attrs().get<int64_t>("axis");
  return scatter_gradient(site, {[=](Value x) { return gather_elements(x, indices, axis); },
                                 [=](Value x, Value updates, const char* reduction) {
                                   return scatter_elements(x, indices, updates, axis, reduction);
                                 }});
}

}  // namespace

const OpDef& scatter_elements_op() {
  static const OpDef op{
      .name = "scatter_elements",
      .family = "indexing",
      .inputs = {3, 3, {"x", "indices", "updates"}},
      .attrs = scatter_attrs("axis", 0),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {scatter_variants()},
      .onnx = "ScatterElements",
  };
  return op;
}

Value scatter_elements(Value x, Value indices, Value updates, int64_t axis,
                       const std::string& reduction, bool deterministic) {
  return x.apply(scatter_elements_op(), {x, indices, updates},
                 {{"axis", axis}, {"reduction", reduction}, {"deterministic", deterministic}});
}

}  // namespace rlx
