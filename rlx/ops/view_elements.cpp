#include "rlx/ops/view_elements.h"

#include "rlx/ops/views.h"

namespace rlx {

HostValue elements_of_view(const HostValue& x, const Layout& layout, const Shape& shape) {
  Tensor places(DType::i64, x.shape), viewed(DType::i64, shape);
  for (int64_t i = 0; i < places.count(); ++i) places.set_integer(i, i);
  copy_strided(places, layout, viewed, {});
  HostValue value{shape, {}};
  for (const int64_t at : viewed.data<int64_t>())
    value.elements.push_back(x.elements[static_cast<size_t>(at)]);
  return value;
}

}  // namespace rlx
