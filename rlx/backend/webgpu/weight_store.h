// The weights on a logical device, shared by the programs that read them: one buffer for each
// tensor and storage, freed with the last program that holds it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/base/report.h"
#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

struct StoredWeight {
  BufferPtr buffer;
};
using StoredWeightPtr = std::shared_ptr<const StoredWeight>;

// What a part of `once` has made, in the order it is kept: buffers, or tensors of the host.
struct StoredOnce {
  std::vector<BufferPtr> buffers;
  std::vector<Tensor> tensors;
};

class WeightStore {
 public:
  // The buffer that holds the tensor; made and filled where no program has it. `counters` are those
  // of the program that asks: it is the one that uploads.
  StoredWeightPtr get(Gpu& gpu, const Tensor& tensor, const image::Value& value,
                      Counters& counters);
  size_t size() const;  // that are held

 private:
  using Key = std::tuple<uint64_t, size_t, int64_t, DType, image::Storage>;
  void forget_freed();

  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<const StoredWeight>> stored_;
  size_t forget_at_ = 64;
};

// What a tensor takes on a device, in whole words, one at least.
uint64_t device_bytes(DType dtype, int64_t count, const DeviceTraits& traits);
inline uint64_t whole_words(int64_t bytes) { return static_cast<uint64_t>((bytes + 3) / 4 * 4); }

// Writes the elements to a buffer, from an offset on, as the device keeps them. An element that
// does not fit is an Error that names `what`. `scratch` is kept for the next time.
void upload(Gpu& gpu, Buffer& buffer, uint64_t offset, const Tensor& tensor,
            const std::string& what, std::vector<std::byte>& scratch, Counters& counters);

}  // namespace rlx::detail::webgpu
