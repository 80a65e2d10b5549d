#include "rlx/backend/webgpu/weight_store.h"

#include <algorithm>

#include "rlx/backend/webgpu/upload.h"

namespace rlx::detail::webgpu {

StoredWeightPtr WeightStore::get(Gpu& gpu, const Tensor& tensor, const image::Value& value,
                                 Counters& counters) {
  const Tensor::Mark mark = tensor.mark();
  const Key key{mark.version, mark.offset, mark.count, value.dtype, value.storage};
  // Locked while it uploads: a second program that wants the same tensor then finds it.
  const std::lock_guard lock(mutex_);
  const auto found = stored_.find(key);
  if (found != stored_.end() && !tensor.may_change())
    if (StoredWeightPtr there = found->second.lock()) return there;
  const auto made = std::make_shared<StoredWeight>();
  made->buffer = gpu.create_buffer(device_bytes(tensor.dtype(), tensor.count(), gpu.info().traits),
                                   BufferUse::storage, value.name);
  ++counters.buffers;
  std::vector<std::byte> scratch;
  upload(gpu, *made->buffer, 0, tensor, value.name, scratch, counters);
  forget_freed();
  stored_[key] = made;
  return made;
}

void WeightStore::forget_freed() {
  if (stored_.size() < forget_at_) return;
  for (auto at = stored_.begin(); at != stored_.end();)
    at = at->second.expired() ? stored_.erase(at) : std::next(at);
  forget_at_ = 2 * stored_.size() + 64;
}

size_t WeightStore::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(
      stored_.begin(), stored_.end(), [](const auto& entry) { return !entry.second.expired(); }));
}

}  // namespace rlx::detail::webgpu
