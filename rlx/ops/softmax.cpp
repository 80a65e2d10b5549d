// softmax(x) = exp(x - max x) / sum exp(x - max x), along one axis.

#include <algorithm>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  require(is_float(site.in(0).dtype), "softmax: needs a float tensor, got ", site.in(0));
  axis_of("softmax", site.attrs.get<int64_t>("axis"), site.in(0));
  return {site.in(0)};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const ConcreteRows rows(x.shape(), axis_of("softmax", site.attrs.get<int64_t>("axis"), x.type()));
  for (int64_t row = 0; row < rows.count; ++row) {
    double highest = -INFINITY, total = 0;
    for (int64_t i = 0; i < rows.length; ++i) highest = std::max(highest, x.at(rows.at(row, i)));
    for (int64_t i = 0; i < rows.length; ++i) total += std::exp(x.at(rows.at(row, i)) - highest);
    for (int64_t i = 0; i < rows.length; ++i)
      site.out().set(rows.at(row, i), std::exp(x.at(rows.at(row, i)) - highest) / total);
  }
}

Steps lower(const LowerSite& site) {
  const Rows rows(site.in(0).shape,
                  axis_of("softmax", site.attrs().get<int64_t>("axis"), site.in(0)));
  return Dispatch{
      .kernel = kernel("softmax", {"numbers", "functions", "reduce"}),
      .operands = {site.read("x", 0), site.write("y")},
      .params = {{"row_count", rows.count}, {"row_length", rows.length}, {"stride", rows.stride}},
      .workgroups = rows.count,
  };
}

// dx = y * (dy - sum(y * dy))
Gradients gradient(const GradientSite& site) {
  const Value y = site.y(), dy = site.dy();
  return {y * (dy - sum(y * dy, {site.attrs().get<int64_t>("axis")}, true))};
}

}  // namespace

const OpDef& softmax_op() {
  static const OpDef op{
      .name = "softmax",
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axis", -1}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .accuracy = {16},
      .onnx = "Softmax",
  };
  return op;
}

Value softmax(Value x, int64_t axis) { return x.apply(softmax_op(), {x}, {{"axis", axis}}); }

}  // namespace rlx
