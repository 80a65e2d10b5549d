// What a program holds on one logical device: buffers for slots, weights, inputs and state, bind
// groups, the params and staging buffers. All of it goes with the device and is made again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/gpu.h"

namespace rlx::webgpu {

class GpuMemory : public DeviceMemory {
 public:
  GpuMemory(std::shared_ptr<Gpu> gpu, BufferPtr buffer)
      : gpu_(std::move(gpu)), buffer_(std::move(buffer)) {}
  Tensor read(DType dtype, const Shape& shape) override;
  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  const BufferPtr& buffer() const { return buffer_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  BufferPtr buffer_;
};

class Resources {
 public:
  Resources(std::shared_ptr<Gpu> gpu, const Lowered& lowered, Counters& counters);

  Gpu& gpu() { return *gpu_; }
  const std::shared_ptr<Gpu>& gpu_ptr() { return gpu_; }
  // Makes room for a plan: slots and own buffers only grow.
  void fit(const MemoryPlan& plan);
  // Room for a value that only a step could size.
  void fit_late(ValueId value, int64_t bytes);
  const BufferPtr& buffer(ValueId value) const;
  // That of a value that keeps one from run to run; none before the first plan.
  const BufferPtr& own(ValueId value) const { return own_[size_t(value)]; }
  void borrow(ValueId value, BufferPtr buffer);  // somebody else's, for this run
  // Room for an output that stays on the device: what nobody holds any more serves again, so that
  // a cache handed from run to run takes two buffers in turn.
  std::shared_ptr<GpuMemory> keep(ValueId value, uint64_t bytes, const std::string& label);

  // Uploads a tensor to the value's own buffer.
  void upload(ValueId value, const Tensor& tensor, const std::string& what);
  // The same, when the tensor is not the one uploaded last.
  void upload_changed(ValueId value, const Tensor& tensor, const std::string& what);

  BindGroupPtr bind_group(const void* dispatch, const Pipeline& pipeline,
                          const std::vector<BufferRange>& ranges, uint64_t params_bytes);
  const BufferPtr& params(uint64_t bytes);
  const BufferPtr& staging(uint64_t bytes);
  // Changes whenever a buffer does: what was recorded before is stale.
  uint64_t generation() const { return generation_; }

 private:
  struct GroupKey {
    const void* dispatch;
    std::vector<uint64_t> ranges;
    bool operator<(const GroupKey& other) const {
      return std::tie(dispatch, ranges) < std::tie(other.dispatch, other.ranges);
    }
  };
  BufferPtr make(uint64_t bytes, BufferUse use, const std::string& label);

  std::shared_ptr<Gpu> gpu_;
  const Lowered& lowered_;
  Counters& counters_;
  const MemoryPlan* plan_ = nullptr;
  std::vector<BufferPtr> slots_;
  std::vector<BufferPtr> own_;  // by value
  std::vector<BufferPtr> borrowed_;
  std::map<ValueId, std::vector<std::shared_ptr<GpuMemory>>> kept_;
  std::vector<Tensor::Mark> uploaded_;  // what the own buffers hold
  std::map<GroupKey, BindGroupPtr> groups_;
  BufferPtr params_, staging_;
  std::vector<std::byte> conversion_;
  uint64_t generation_ = 0;
};

}  // namespace rlx::webgpu
