// window_sum(x, axis, before, after): the sum of each element, `before` ones before it and `after`
// ones behind it along an axis, as far as there are so many. lrn is made of it.

#include <algorithm>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"

namespace rlx {
namespace {

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(is_float(x.dtype), "window_sum: takes floats, got ", x);
  axis_of(site);
  const int64_t before = site.attrs.get<int64_t>("before"),
                after = site.attrs.get<int64_t>("after");
  require(before >= 0 && after >= 0, "window_sum: before ", before, " and after ", after,
          " must not be negative");
  return {x};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const ConcreteRows rows(x.shape(), axis_of(site));
  const int64_t before = site.attrs.get<int64_t>("before"),
                after = site.attrs.get<int64_t>("after");
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t i = 0; i < rows.length; ++i) {
      double total = 0;
      const int64_t last = i + std::min(after, rows.length - 1 - i);
      for (int64_t k = std::max<int64_t>(i - before, 0); k <= last; ++k)
        total += x.at(rows.at(row, k));
      site.out().set(rows.at(row, i), total);
    }
}

Steps lower(const LowerSite& site) {
  const Rows rows(site.in(0).shape, axis_of(site));
  const auto reach = [&](const char* name) {  // no further than a kernel counts
    return Dim(std::min<int64_t>(site.attrs().get<int64_t>(name), INT32_MAX));
  };
  return Dispatch{
      .kernel = kernel("window_sum"),
      .operands = {site.read("x", 0), site.write("y")},
      .params = {{"count", rows.count * rows.length},
                 {"row_length", rows.length},
                 {"stride", rows.stride},
                 {"before", reach("before")},
                 {"after", reach("after")}},
      .workgroups = ceil_div(rows.count * rows.length, 64),
  };
}

// An element is part of the windows of its neighbours: the gradient sums over the mirrored window.
Gradients gradient(const GradientSite& site) {
  const Attrs& attrs = site.attrs();
  return {window_sum(site.dy(), attrs.get<int64_t>("axis"), attrs.get<int64_t>("after"),
                     attrs.get<int64_t>("before"))};
}

}  // namespace

const OpDef& window_sum_op() {
  static const OpDef op{
      .name = "window_sum",
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axis", -1}, {"before", 0}, {"after", 0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
  };
  return op;
}

Value window_sum(Value x, int64_t axis, int64_t before, int64_t after) {
  return x.apply(window_sum_op(), {x}, {{"axis", axis}, {"before", before}, {"after", after}});
}

Value lrn(Value x, int64_t size, double alpha, double beta, double bias) {
  require(x.shape().size() >= 2, "lrn: x is ", x.type(), ", it needs [batch, channels, ...]");
  require(size >= 1, "lrn: size ", size, " must be positive");
  const Value squares = window_sum(x * x, 1, (size - 1) / 2, size / 2);
  const Value base = scalar(x, bias) + scalar(x, alpha / static_cast<double>(size)) * squares;
  return x * pow(base, scalar(x, -beta));
}

}  // namespace rlx
