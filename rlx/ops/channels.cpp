#include "rlx/ops/channels.h"

#include <numeric>

#include "rlx/ops/ops_core.h"

namespace rlx {

void require_channels(const InferSite& site, std::span<const char* const> names) {
  const TensorType& x = site.in(0);
  require(is_float(x.dtype), site.op.name, ": takes floats, got ", x);
  require(x.shape.size() >= 2, site.op.name, ": x is ", x, ", it needs [batch, channels, ...]");
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    if (!site.has(i)) continue;
    const TensorType& operand = site.in(i);
    require(operand.dtype == x.dtype && operand.shape.size() == 1, site.op.name, ": ", names[i],
            " is ", operand, ", it needs one ", x.dtype, " for each channel of x ", x);
    site.equal(x.shape[1], operand.shape[0], text(names[i], " differs from the channels of x"));
  }
}

Dim positions(const Dims& shape) {
  Dim count = 1;
  for (size_t d = 2; d < shape.size(); ++d) count = count * shape[d];
  return count;
}

Value per_channel(Value operand, Value x) {
  Ints axes(x.shape().size() - 2);
  std::iota(axes.begin(), axes.end(), int64_t{1});
  return axes.empty() ? operand : unsqueeze(operand, axes);
}

Ints other_axes(Value x) {
  Ints axes{0};
  for (size_t d = 2; d < x.shape().size(); ++d) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

Value channel_sum(Value dy) { return sum(dy, other_axes(dy)); }

}  // namespace rlx
