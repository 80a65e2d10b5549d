#include "rlx/backend/webgpu/weight_store.h"

#include <algorithm>

#include "rlx/image/storage.h"

namespace rlx::detail::webgpu {

uint64_t device_bytes(DType dtype, int64_t count, const DeviceTraits& traits) {
  return std::max<uint64_t>(whole_words(count * device_storage(dtype, traits).bytes), 4);
}

void upload(Gpu& gpu, Buffer& buffer, uint64_t offset, const Tensor& tensor,
            const std::string& what, std::vector<std::byte>& scratch, Counters& counters) {
  if (tensor.count() == 0) return;
  const DeviceTraits& traits = gpu.info().traits;
  std::span<const std::byte> data = tensor.bytes();
  if (!same_on_device(tensor.dtype(), traits) || data.size() % 4 != 0) {
    scratch.assign(device_bytes(tensor.dtype(), tensor.count(), traits), std::byte{0});
    to_device(tensor, scratch, what);
    data = scratch;
  }
  gpu.write(buffer, offset, data);
  ++counters.uploads;
  counters.upload_bytes += data.size();
}

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
