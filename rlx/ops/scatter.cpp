// scatter(x, indices, updates, axis, reduction): x with its rows along `axis` at `indices` replaced
// by the rows of updates, or combined with them. Of duplicates the last one replaces; all of them
// are combined.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/scattering.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& scatter_op();

namespace {

size_t axis_in(const Attrs& attrs, const TensorType& x) {
  return axis_of("scatter", attrs.get<int64_t>("axis"), x);
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1), &updates = site.in(2);
  const size_t axis = axis_in(site.attrs, x);
  require(is_integer(indices.dtype) && rank(indices) == 1,
          "scatter: indices must be a list of integers, got ", indices);
  require(rank(updates) == rank(x), "scatter: updates ", updates, " do not fit ", x);
  check_scatter(site);
  for (size_t d = 0; d < x.shape.size(); ++d)
    site.equal(updates.shape[d], d == axis ? indices.shape[0] : x.shape[d],
               text("dim ", d, " of updates ", updates, " into ", x, " at ", indices));
  return {x};
}

void reference(const ReferenceSite& site) {
  scatter_reference(site, row_places(site, axis_in(site.attrs, site.in(0).type())));
}

Steps lower(const LowerSite& site) {
  const TensorType& x = site.in(0);
  const size_t axis = axis_in(site.attrs(), x);
  const Dim& steps = site.in(1).shape[0];
  const Dim inner = product(x.shape, axis + 1, x.shape.size());
  return lower_scatter(
      site, {row_places(x, steps, axis), product(x.shape, 0, axis) * inner, steps, inner});
}

Gradients gradient(const GradientSite& site) {
  const Value indices = site.in(1);
  const int64_t axis = site.attrs().get<int64_t>("axis");
  return scatter_gradient(site, {[=](Value x) { return gather(x, indices, axis); },
                                 [=](Value x, Value updates, const char* reduction) {
                                   return scatter(x, indices, updates, axis, reduction);
                                 }});
}

}  // namespace

const OpDef& scatter_op() {
  static const OpDef op{
      .name = "scatter",
      .family = "indexing",
      .inputs = {3, 3, {"x", "indices", "updates"}},
      .attrs = scatter_attrs("axis", 0),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {scatter_variants()},
  };
  return op;
}

Value scatter(Value x, Value indices, Value updates, int64_t axis, const std::string& reduction,
              bool deterministic) {
  return x.apply(scatter_op(), {x, indices, updates},
                 {{"axis", axis}, {"reduction", reduction}, {"deterministic", deterministic}});
}

}  // namespace rlx
