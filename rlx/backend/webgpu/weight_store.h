// The weights on a logical device, shared by the programs that read them: one buffer for each
// tensor and storage, freed with the last program that holds it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/base/report.h"
#include "rlx/image/image.h"

namespace rlx::detail::webgpu {

struct StoredWeight {
  BufferPtr buffer;
};
using StoredWeightPtr = std::shared_ptr<const StoredWeight>;

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

}  // namespace rlx::detail::webgpu
