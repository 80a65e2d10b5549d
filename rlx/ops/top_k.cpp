// top_k(x, k, axis, largest): the k largest (or smallest) elements of each row, the most extreme
// first, and where each was. Of equals the one with the lower index comes first; NaN is the
// largest.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/sorting.h"

namespace rlx {

const OpDef& top_k_op();

namespace {

size_t axis_in(const Attrs& attrs, const TensorType& x) {
  return axis_of("top_k", attrs.get<int64_t>("axis"), x);
}

Ordering ordering(const Attrs& attrs, const TensorType& x) {
  return {axis_in(attrs, x), attrs.get<bool>("largest")};
}

Dim wanted(const InferSite& site) {
  require(site.attrs.has("k") != site.has(1),
          "top_k: takes k as attribute or as operand, and one of them");
  if (!site.has(1)) return site.attrs.get<int64_t>("k");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && count(type.shape).is(1), "top_k: k must be one integer, got ",
          type);
  return site.host(1).elements[0];
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, "top_k: complex numbers have no order, got ", x);
  const size_t axis = axis_in(site.attrs, x);
  const Dim k = wanted(site), &length = x.shape[axis];
  const std::string what =
      text("k ", k, " is out of range for axis ", axis, " of ", x, " (", length, ")");
  site.at_most(0, k, what);
  site.at_most(k, length, what);
  return sorted_types(x, axis, k);
}

void reference(const ReferenceSite& site) {
  sort_reference(site, ordering(site.attrs, site.in(0).type()));
}
Steps lower(const LowerSite& site) { return lower_sort(site, ordering(site.attrs(), site.in(0))); }
Gradients gradient(const GradientSite& site) {
  return sort_gradient(site, axis_in(site.attrs(), site.in(0).type()));
}

}  // namespace

const OpDef& top_k_op() {
  static const OpDef op{
      .name = "top_k",
      .family = "indexing",
      .inputs = {1, 2, {"x", "k"}},
      .results = {2, 2, {"values", "indices"}},
      .attrs = {{"axis", -1}, {"largest", true}, {"k", {}, true}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {sort_variants()},
      .onnx = "TopK",
  };
  return op;
}

TopK top_k(Value x, int64_t k, int64_t axis, bool largest) {
  const Value values = x.apply(top_k_op(), {x}, {{"k", k}, {"axis", axis}, {"largest", largest}});
  return {values, values.of(1)};
}
TopK top_k(Value x, Value k, int64_t axis, bool largest) {
  const Value values = x.apply(top_k_op(), {x, k}, {{"axis", axis}, {"largest", largest}});
  return {values, values.of(1)};
}

}  // namespace rlx
