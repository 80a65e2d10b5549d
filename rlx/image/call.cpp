#include "rlx/image/call.h"

#include <algorithm>
#include <cstring>

namespace rlx::image {

void Holdings::begin(const Call& call) {
  call_ = &call;
  lent_now_.clear();
}

void Holdings::pack(size_t input, const Order& order, int64_t bytes) {
  packed_[{call_->inputs[input].value, order}] = bytes;
}

void Holdings::borrow(int64_t bytes) {
  int64_t& most = lent_[bytes];
  most = std::max(most, ++lent_now_[bytes]);
}

int64_t Holdings::packed_bytes() const {
  int64_t total = 0;
  for (const auto& [what, bytes] : packed_) total = checked_add(total, bytes);
  return total;
}

int64_t Holdings::widened_bytes() const {
  int64_t total = kept_;
  for (const auto& [bytes, most] : lent_) total = checked_add(total, checked_mul(bytes, most));
  return total;
}

// Neighbours that lie end to end on both sides become one axis; extents of 1 are none.
StridedCopy::StridedCopy(const Shape& shape, Layout from, Layout to, int64_t element_bytes)
    : from_(from.offset * element_bytes),
      to_(to.offset * element_bytes),
      width_(element_bytes),
      empty_(count(shape) == 0) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const Axis axis{shape[d], from.strides[d], to.strides[d]};
    if (!axes_.empty() && axes_.back().from == axis.from * axis.extent &&
        axes_.back().to == axis.to * axis.extent)
      axes_.back() = {axes_.back().extent * axis.extent, axis.from, axis.to};
    else
      axes_.push_back(axis);
  }
}

// The two innermost axes, in blocks that stay in the cache on both sides.
template <size_t width>
void StridedCopy::plane(const std::byte* from, std::byte* to, const Axis& outer,
                        const Axis& inner) {
  constexpr int64_t kBlock = 32;
  const auto step = static_cast<int64_t>(width);
  for (int64_t i0 = 0; i0 < outer.extent; i0 += kBlock)
    for (int64_t j0 = 0; j0 < inner.extent; j0 += kBlock)
      for (int64_t i = i0; i < std::min(i0 + kBlock, outer.extent); ++i)
        for (int64_t j = j0; j < std::min(j0 + kBlock, inner.extent); ++j)
          std::memcpy(to + (i * outer.to + j * inner.to) * step,
                      from + (i * outer.from + j * inner.from) * step, width);
}

template <size_t width>
void StridedCopy::axes_from(const std::byte* from, std::byte* to, size_t at) const {
  const auto step = static_cast<int64_t>(width);
  const size_t left = axes_.size() - at;
  const bool runs = left > 0 && axes_.back().from == 1 && axes_.back().to == 1;
  if (left == 0)
    std::memcpy(to, from, width);
  else if (left == 1 && runs)
    std::memcpy(to, from, static_cast<size_t>(axes_[at].extent) * width);
  else if (left == 1)
    plane<width>(from, to, {1, 0, 0}, axes_[at]);
  else if (left == 2 && !runs)
    plane<width>(from, to, axes_[at], axes_[at + 1]);
  else
    for (int64_t i = 0; i < axes_[at].extent; ++i)
      axes_from<width>(from + i * axes_[at].from * step, to + i * axes_[at].to * step, at + 1);
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (empty_) return;
  from += from_;
  to += to_;
  switch (width_) {
    case 1:
      return axes_from<1>(from, to, 0);
    case 2:
      return axes_from<2>(from, to, 0);
    case 4:
      return axes_from<4>(from, to, 0);
    default:
      return axes_from<8>(from, to, 0);
  }
}

void check_view(const Shape& shape, int64_t offset, const Shape& strides, int64_t count) {
  int64_t first = offset, last = offset;
  bool is_empty = false, fits = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t span = 0;
    int64_t& end = strides[d] < 0 ? first : last;
    is_empty |= shape[d] == 0;
    fits = fits && shape[d] >= 0 && !__builtin_mul_overflow(shape[d] - 1, strides[d], &span) &&
           !__builtin_add_overflow(end, span, &end);
  }
  if (!is_empty && !(fits && first >= 0 && last < count))
    fail(ErrorKind::invalid_model, "image: a view ", shape, " with strides ", strides,
         " from element ", offset, " lies outside a value of ", count);
}

Tensor Argument::contiguous() const {
  if (!is_view) return tensor;
  Tensor result(tensor.dtype(), shape);
  if (result.count() == 0) return result;
  const Shape rows = strides_of(shape);
  StridedCopy(shape, {offset, strides}, {0, rows}, bytes_of(tensor.dtype()))
      .run(tensor.bytes().data(), result.mutable_bytes().data());
  return result;
}

}  // namespace rlx::image
