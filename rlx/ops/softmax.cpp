// softmax(x) = exp(x - max x) / sum exp(x - max x), along one axis, and log_softmax, its logarithm.

#include <algorithm>
#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/row_kernel.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  require(is_float(site.in(0).dtype), site.op.name, ": needs a float tensor, got ", site.in(0));
  axis_of(site);
  return {site.in(0)};
}

template <bool kLogarithm>
void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const ConcreteRows rows(x.shape(), axis_of(site));
  for (int64_t row = 0; row < rows.count; ++row) {
    double highest = -INFINITY, total = 0;
    for (int64_t i = 0; i < rows.length; ++i) highest = std::max(highest, x.at(rows.at(row, i)));
    for (int64_t i = 0; i < rows.length; ++i) total += std::exp(x.at(rows.at(row, i)) - highest);
    for (int64_t i = 0; i < rows.length; ++i) {
      const double shifted = x.at(rows.at(row, i)) - highest;
      site.out().set(rows.at(row, i),
                     kLogarithm ? shifted - std::log(total) : std::exp(shifted) / total);
    }
  }
}

template <bool kLogarithm>
Steps lower(const LowerSite& site) {
  const Rows rows(site.in(0).shape, axis_of(site));
  Dispatch dispatch = row_dispatch(site, "softmax", {"numbers", "functions"}, rows,
                                   {site.read("x", 0), site.write("y")});
  dispatch.params.emplace_back("stride", rows.stride);
  dispatch.prelude = {text("fn weight(total: f32) -> f32 { return ",
                           kLogarithm ? "log_f32(total)" : "total", "; }"),
                      text("fn finish(shifted: f32, weight: f32) -> f32 { return ",
                           kLogarithm ? "shifted - weight" : "exp_f32(shifted) / weight", "; }")};
  return dispatch;
}

// dx = y * (dy - sum(y * dy))
Gradients softmax_gradient(const GradientSite& site) {
  const Value y = site.y(), dy = site.dy();
  return {y * (dy - sum(y * dy, {site.attrs().get<int64_t>("axis")}, true))};
}

// dx = dy - exp(y) * sum(dy)
Gradients log_softmax_gradient(const GradientSite& site) {
  const Value dy = site.dy();
  return {dy - exp(site.y()) * sum(dy, {site.attrs().get<int64_t>("axis")}, true)};
}

}  // namespace

const OpDef& softmax_op() {
  static const OpDef op{
      .name = "softmax",
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axis", -1}},
      .infer = infer,
      .reference = reference<false>,
      .lower = lower<false>,
      .gradient = softmax_gradient,
      .never_fails = true,
      .accuracy = {16},
      .variants = {row_variants()},
      .onnx = "Softmax",
  };
  return op;
}

const OpDef& log_softmax_op() {
  static const OpDef op{
      .name = "log_softmax",
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axis", -1}},
      .infer = infer,
      .reference = reference<true>,
      .lower = lower<true>,
      .gradient = log_softmax_gradient,
      .never_fails = true,
      .accuracy = {16, 1e-6},
      .variants = {row_variants()},
      .onnx = "LogSoftmax",
  };
  return op;
}

Value softmax(Value x, int64_t axis) { return x.apply(softmax_op(), {x}, {{"axis", axis}}); }
Value log_softmax(Value x, int64_t axis) {
  return x.apply(log_softmax_op(), {x}, {{"axis", axis}});
}

}  // namespace rlx
