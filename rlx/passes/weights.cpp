#include "rlx/passes/weights.h"

#include "rlx/ops/ops_core.h"

namespace rlx {

Value in_shape(Value weight, const Dims& dims, size_t behind) {
  Dims shape = weight.shape();
  for (size_t i = 0; i < behind; ++i) {
    if (shape.empty() || !shape.back().is(1)) return {};
    shape.pop_back();
  }
  while (shape.size() > dims.size() && shape.front().is(1)) shape.erase(shape.begin());
  if (!(shape == dims)) return {};
  return weight.shape() == dims ? weight : reshape(weight, dims);
}

Value along_axis(Value weight, const Dim& extent, size_t behind) {
  if (count(weight.shape()).is(1)) return weight.shape().empty() ? weight : reshape(weight, Dims{});
  return in_shape(weight, {extent}, behind);
}

}  // namespace rlx
