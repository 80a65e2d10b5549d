#include "rlx/backend/webgpu/upload.h"

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

}  // namespace rlx::detail::webgpu
