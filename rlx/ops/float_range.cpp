// float_range(start, limit, delta): start, start + delta, .. before limit, of floats that only a
// run can tell; what is known earlier is a range.

#include <cmath>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_fill.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const DType dtype = site.in(0).dtype;
  for (size_t i = 0; i < 3; ++i)
    require(is_float(dtype) && site.in(i).dtype == dtype && count(site.in(i).shape).is(1),
            "float_range: ", site.op.inputs.names[i], " must be one ",
            is_float(dtype) ? text(dtype) : "float", ", got ", site.in(i));
  return {{dtype, {site.fresh()}}};
}

void reference(const ReferenceSite& site) {
  const double start = site.in(0).at(0), limit = site.in(1).at(0), delta = site.in(2).at(0);
  const double steps = std::ceil((limit - start) / delta);
  constexpr double kMost = 1 << 30;
  if (delta == 0 || !(steps <= kMost))
    fail(ErrorKind::invalid_input, "float_range: from ", start, " to ", limit, " by ", delta,
         " has no end that can be reached");
  Tensor y(site.in(0).dtype(), {steps > 0 ? static_cast<int64_t>(steps) : 0});
  for (int64_t i = 0; i < y.count(); ++i) y.set(i, start + static_cast<double>(i) * delta);
  site.results[0] = y;
}

}  // namespace

const OpDef& float_range_op() {
  static const OpDef op{
      .name = "float_range",
      .family = "shape",
      .inputs = {3, 3, {"start", "limit", "delta"}},
      .infer = infer,
      .reference = reference,
      .host_reason = "how many elements float_range gives depends on the data",
      .gradient_reason = "how many elements there are does not change with the bounds, it jumps",
      .onnx = "Range",
  };
  return op;
}

Value float_range(Value start, Value limit, Value delta) {
  return start.apply(float_range_op(), {start, limit, delta});
}

}  // namespace rlx
