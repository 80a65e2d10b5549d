// sort(x, axis, descending): the elements of each row in order, and where each was. Stable; NaN is
// the largest.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/sorting.h"

namespace rlx {

const OpDef& sort_op();

namespace {

size_t axis_in(const Attrs& attrs, const TensorType& x) {
  return axis_of("sort", attrs.get<int64_t>("axis"), x);
}

Ordering ordering(const Attrs& attrs, const TensorType& x) {
  return {axis_in(attrs, x), attrs.get<bool>("descending")};
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, "sort: complex numbers have no order, got ", x);
  const size_t axis = axis_in(site.attrs, x);
  return sorted_types(x, axis, x.shape[axis]);
}

void reference(const ReferenceSite& site) {
  sort_reference(site, ordering(site.attrs, site.in(0).type()));
}
Steps lower(const LowerSite& site) { return lower_sort(site, ordering(site.attrs(), site.in(0))); }
Gradients gradient(const GradientSite& site) {
  return sort_gradient(site, axis_in(site.attrs(), site.in(0).type()));
}

}  // namespace

const OpDef& sort_op() {
  static const OpDef op{
      .name = "sort",
      .family = "indexing",
      .inputs = {1, 1, {"x"}},
      .results = {2, 2, {"values", "indices"}},
      .attrs = {{"axis", -1}, {"descending", false}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {sort_variants()},
  };
  return op;
}

TopK sort(Value x, int64_t axis, bool descending) {
  const Value values = x.apply(sort_op(), {x}, {{"axis", axis}, {"descending", descending}});
  return {values, values.of(1)};
}
Value argsort(Value x, int64_t axis, bool descending) { return sort(x, axis, descending).indices; }

}  // namespace rlx
