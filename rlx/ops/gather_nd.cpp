// gather_nd(x, indices, batch_dims): the blocks of x that tuples of indices, the last dim of
// `indices`, name; the first batch_dims dims of both go along.

#include "rlx/ops/ops.h"
#include "rlx/ops/places.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& gather_nd_op();

namespace {

Tuples tuples_in(const Attrs& attrs, const TensorType& x, const TensorType& indices) {
  return tuples_of("gather_nd", x, indices, attrs.get<int64_t>("batch_dims"));
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const Tuples tuples = tuples_in(site.attrs, x, indices);
  check_batch_dims(site, tuples);
  return {{x.dtype, blocks_shape(x, indices, tuples)}};
}

void reference(const ReferenceSite& site) {
  const TensorType x = site.in(0).type(), indices = site.in(1).type();
  gather_places(site, tuple_places(site, tuples_in(site.attrs, x, indices)));
}

Steps lower(const LowerSite& site) {
  const Tuples tuples = tuples_in(site.attrs(), site.in(0), site.in(1));
  return gather_places(site, site.inputs[0], tuple_places(site.in(0), site.in(1), tuples));
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), indices = site.in(1);
  return {scatter_nd(zeros(x, x.shape()), indices, site.dy(), "add",
                     site.attrs().get<int64_t>("batch_dims")),
          std::nullopt};
}

}  // namespace

const OpDef& gather_nd_op() {
  static const OpDef op{
      .name = "gather_nd",
      .family = "indexing",
      .inputs = {2, 2, {"x", "indices"}},
      .attrs = {{"batch_dims", 0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .onnx = "GatherND",
  };
  return op;
}

Value gather_nd(Value x, Value indices, int64_t batch_dims) {
  return x.apply(gather_nd_op(), {x, indices}, {{"batch_dims", batch_dims}});
}

}  // namespace rlx
