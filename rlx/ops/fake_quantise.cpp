// fake_quantise with a scale that it finds itself: by the batch, an average of batches, a given
// one, or one that is trained.

#include <cmath>

#include "rlx/ir/graph.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fake_quantise.h"

namespace rlx {
namespace {

using Scale = FakeQuantiseOptions::Scale;

// Over all axes but one, or over all.
Ints other_axes(Value x, std::optional<int64_t> axis) {
  Ints axes;
  for (int64_t d = 0; d < rank(x.type()); ++d)
    if (!axis || d != *axis) axes.push_back(d);
  return axes;
}

// What the largest magnitude needs; of zeros alone any will do.
Value scale_of_batch(Value x, std::optional<int64_t> axis, double high) {
  const Ints axes = other_axes(x, axis);
  const Value largest = axes.empty() ? abs(x) : reduce_max(abs(x), axes);
  const Value scale = stop_gradient(largest) / scalar(x, high);
  return where(equal(scale, scalar(scale, 0)), scalar(scale, 1), scale);
}

// The same number, of which only `share` of a gradient is passed on.
Value with_share(Value scale, Value share) {
  const Value kept = stop_gradient(scale);
  return kept + (scale - kept) * share;
}

}  // namespace

FakeQuantised fake_quantise(Value x, const FakeQuantiseOptions& options) {
  require(options.bits >= 2 && options.bits <= 16, "fake_quantise: ", options.bits,
          " bits are not in [2, 16]");
  require(options.by == Scale::batch || options.scale.present(),
          "fake_quantise: a scale must be given where it is not that of the batch");
  const int64_t dims = rank(x.type());
  std::optional<int64_t> axis = options.axis;
  if (axis) {
    require(-dims <= *axis && *axis < dims, "fake_quantise: axis ", *axis, " is out of range for ",
            x.type());
    if (*axis < 0) *axis += dims;
  }
  const double high = std::exp2(static_cast<double>(options.bits - 1)) - 1;
  Value scale = options.scale;
  if (options.by == Scale::batch || options.by == Scale::moving_average) {
    const Value batch = scale_of_batch(x, axis, high);
    if (options.by == Scale::batch) {
      scale = batch;
    } else {
      const Value before = stop_gradient(scale), old = scalar(scale, options.momentum),
                  fresh = scalar(scale, 1 - options.momentum);
      scale = where(equal(before, scalar(before, 0)), batch, old * before + fresh * batch);
    }
  } else if (options.by == Scale::fixed) {
    scale = stop_gradient(scale);
  } else {  // LSQ's share: 1 / sqrt(elements that have the scale * the largest step)
    const Value elements = cast(size_of(x), x.dtype()) / cast(size_of(scale), x.dtype());
    scale = with_share(scale, rsqrt(elements * scalar(x, high)));
  }
  Value by_axis = scale;
  if (axis) {
    Ints added;
    for (int64_t d = *axis + 1; d < dims; ++d) added.push_back(d - *axis);
    if (!added.empty()) by_axis = unsqueeze(scale, added);
  }
  return {fake_quantise(x, by_axis, options.bits, options.estimator), scale};
}

}  // namespace rlx
