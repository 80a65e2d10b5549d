// scatter_nd(x, indices, updates, reduction, batch_dims): x with the block that each tuple of
// indices names replaced by its update, or combined with it. Of duplicates the last one replaces.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/scattering.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& scatter_nd_op();

namespace {

Tuples tuples_in(const Attrs& attrs, const TensorType& x, const TensorType& indices) {
  return tuples_of("scatter_nd", x, indices, attrs.get<int64_t>("batch_dims"));
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1), &updates = site.in(2);
  const Tuples tuples = tuples_in(site.attrs, x, indices);
  const Dims shape = blocks_shape(x, indices, tuples);
  check_batch_dims(site, tuples);
  check_scatter(site);
  require(updates.shape.size() == shape.size(), "scatter_nd: updates ", updates, " must be ",
          TensorType{x.dtype, shape}, " for ", x, " at ", indices);
  for (size_t d = 0; d < shape.size(); ++d)
    site.equal(updates.shape[d], shape[d],
               text("dim ", d, " of updates ", updates, " into ", x, " at ", indices));
  return {x};
}

void reference(const ReferenceSite& site) {
  const TensorType x = site.in(0).type(), indices = site.in(1).type();
  scatter_reference(site, tuple_places(site, tuples_in(site.attrs, x, indices)));
}

Steps lower(const LowerSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const Tuples tuples = tuples_in(site.attrs(), x, indices);
  const Dim inner = product(x.shape, tuples.batch + tuples.length, x.shape.size());
  return lower_scatter(site,
                       {tuple_places(x, indices, tuples), product(x.shape, 0, tuples.batch) * inner,
                        product(indices.shape, tuples.batch, indices.shape.size() - 1), inner});
}

Gradients gradient(const GradientSite& site) {
  const Value indices = site.in(1);
  const int64_t batch_dims = site.attrs().get<int64_t>("batch_dims");
  return scatter_gradient(site, {[=](Value x) { return gather_nd(x, indices, batch_dims); },
                                 [=](Value x, Value updates, const char* reduction) {
                                   return scatter_nd(x, indices, updates, reduction, batch_dims);
                                 }});
}

}  // namespace

const OpDef& scatter_nd_op() {
  static const OpDef op{
      .name = "scatter_nd",
      .family = "indexing",
      .inputs = {3, 3, {"x", "indices", "updates"}},
      .attrs = scatter_attrs("batch_dims", 0),
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .variants = {scatter_variants()},
      .onnx = "ScatterND",
  };
  return op;
}

Value scatter_nd(Value x, Value indices, Value updates, const std::string& reduction,
                 int64_t batch_dims, bool deterministic) {
  return x.apply(
      scatter_nd_op(), {x, indices, updates},
      {{"batch_dims", batch_dims}, {"reduction", reduction}, {"deterministic", deterministic}});
}

}  // namespace rlx
