#include "rlx/backend/holdings.h"

#include <algorithm>

#include "rlx/tensor/storage.h"

namespace rlx::detail {

std::vector<bool> always_run(const image::Steps& steps) {
  std::vector<bool> always(steps.size(), true);
  for (size_t at = 0; at < steps.size(); ++at)
    if (const auto* jump = std::get_if<image::Jump>(&steps[at].what))
      for (size_t passed = at + 1; passed < std::min(size_t(jump->target), steps.size()); ++passed)
        always[passed] = false;
  return always;
}

Tensor Blanks::of(image::ValueId value) {
  const image::Value& each = image_.values[size_t(value)];
  const std::vector<int64_t> extents = cells_.at(each.shape);
  const Shape shape(extents.begin(), extents.end());
  int64_t bytes = bytes_of(each.dtype);
  for (const int64_t extent : shape) bytes = checked_mul(bytes, extent);
  if (!storage_ || storage_->bytes().size() < static_cast<size_t>(bytes))
    storage_ = std::make_shared<Storage>(static_cast<size_t>(bytes));
  return {each.dtype, shape, storage_};
}

image::Holdings holdings_of(const image::Image& image,
                            const image::Implementations& implementations,
                            const image::Cells& cells) {
  image::Holdings holdings;
  Blanks blanks(image, cells);
  const auto blank = [&](image::ValueId value) { return blanks.of(value); };
  for (const image::Step& step : image.run)
    if (const auto* call = std::get_if<image::Call>(&step.what))
      PreparedCall(*call, step.node, image, implementations)
          .hold(cells, blank, blank, holdings, false);
  return holdings;
}

}  // namespace rlx::detail
