#include "rlx/backend/cpu/cpu_memory.h"

#include <cstring>

namespace rlx::detail {

using image::Kind;
using image::ValueId;

CpuMemory::CpuMemory(const image::Image& image) : image_(image), values_(image.values.size()) {
  for (size_t v = 0; v < values_.size(); ++v)
    if (const int32_t source = image.values[v].source; source >= 0)
      values_[v] = image.sources[size_t(source)].aligned();
  for (const image::State& state : image.states)
    if (state.value >= 0) values_[size_t(state.value)] = initial_state(image, state);
}

bool CpuMemory::fit(std::shared_ptr<const MemoryPlan> plan) {
  if (plan == plan_) return false;
  plan_ = std::move(plan);
  constexpr int64_t kAlignment = 64;
  offsets_.clear();
  int64_t total = 0;
  for (const int64_t bytes : plan_->slot_bytes) {
    offsets_.push_back(total);
    total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (arena_ && static_cast<int64_t>(arena_->bytes().size()) >= total) return false;
  arena_ = nullptr;  // freed before the larger one is made
  arena_ = std::make_shared<Storage>(static_cast<size_t>(total));
  return true;
}

Tensor CpuMemory::target(ValueId v, const image::Cells& cells) {
  const image::Value& value = image_.values[size_t(v)];
  if (!cells.known(value.shape)) return {value.dtype, Shape{0}};
  Shape shape(value.shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) shape[d] = cells.at(value.shape[d]);
  if (image_.values[size_t(value.place)].kind == Kind::state)
    return values_[size_t(value.place)].reshaped(std::move(shape));
  const int slot = in_once_ ? -1 : plan_->slot_of[size_t(v)];
  if (slot >= 0)
    return {value.dtype, std::move(shape), arena_, static_cast<size_t>(offsets_[size_t(slot)])};
  return {value.dtype, std::move(shape)};
}

void CpuMemory::keep(ValueId v, const Tensor& result, const image::Cells& cells) {
  const Tensor& now = values_[size_t(v)];
  if (now.bytes().data() == result.bytes().data() && now.dtype() == result.dtype() &&
      now.shape() == result.shape() && now.identity() == result.identity())
    return;
  const image::Value& value = image_.values[size_t(v)];
  const bool planned = !in_once_ && plan_->slot_of[size_t(v)] >= 0;
  if (!planned && image_.values[size_t(value.place)].kind != Kind::state) {
    values_[size_t(v)] = result;
    return;
  }
  Tensor place = target(v, cells);
  if (place.count() > 0 && place.bytes().data() != result.bytes().data())
    std::memmove(place.mutable_bytes().data(), result.bytes().data(), result.bytes().size());
  values_[size_t(v)] = std::move(place);
}

void CpuMemory::end_once() {
  in_once_ = false;
  for (size_t v = 0; v < values_.size(); ++v)
    if (image_.values[v].kind == Kind::temporary) values_[v] = Tensor();
}

}  // namespace rlx::detail
