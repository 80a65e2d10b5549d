// non_zero(x): where the elements are that are not 0, in order, as [rank, count]; NaN is not 0.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, "non_zero: does not take complex numbers, got ", x);
  return {i64({rank(x), site.fresh()})};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.count(); ++i)
    if (is_float(x.dtype()) ? x.at(i) != 0 : x.integer_at(i) != 0) found.push_back(i);
  const int64_t axes = rank(x.type()), kept = static_cast<int64_t>(found.size());
  const Shape strides = strides_of(x.shape());
  Tensor y(DType::i64, {axes, kept});
  for (int64_t d = 0; d < axes; ++d)
    for (int64_t k = 0; k < kept; ++k)
      y.set_integer(d * kept + k, found[size_t(k)] / strides[size_t(d)] % x.shape()[size_t(d)]);
  site.results[0] = y;
}

}  // namespace

const OpDef& non_zero_op() {
  static const OpDef op{
      .name = "non_zero",
      .family = "search",
      .inputs = {1, 1, {"x"}},
      .infer = infer,
      .reference = reference,
      .host_reason = "how many elements non_zero gives depends on the data",
      .gradient_reason = "an index does not change with the elements, it jumps",
      .onnx = "NonZero",
  };
  return op;
}

Value non_zero(Value x) { return x.apply(non_zero_op(), {x}); }

}  // namespace rlx
