// What a program holds on one logical device: buffers for slots, weights, inputs and states, the
// params, staging buffers and bind groups. All of it goes with the device and is made again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/bind_groups.h"
#include "rlx/backend/webgpu/device_memory.h"
#include "rlx/backend/webgpu/logical_device.h"
#include "rlx/backend/webgpu/params_block.h"
#include "rlx/plan/memory_plan.h"

namespace rlx::detail::webgpu {

class Resources {
 public:
  Resources(std::shared_ptr<LogicalDevice> device, const image::Image& image,
            const ImageNeeds& needs, Counters& counters);

  Gpu& gpu() { return *device_->gpu; }
  const std::shared_ptr<Gpu>& gpu_ptr() { return device_->gpu; }
  const DeviceTraits& traits() const { return device_->gpu->info().traits; }

  // Where activations lie from now on. The plan must outlive its use.
  void use(const MemoryPlan& plan);
  // Makes room for a plan and uses it: slots and own buffers only grow.
  void fit(const MemoryPlan& plan);
  // A buffer of its own for a place, as large as that at least; what it held is gone if it grows.
  void fit_own(image::ValueId place, int64_t bytes);
  // Could the plan not size it? Then the step that writes it has to make room.
  bool is_late(image::ValueId value) const {
    return plan_->slot_of[size_t(value)] < 0 && plan_->bytes_of[size_t(value)] < 0;
  }
  bool fits(image::ValueId value, int64_t bytes) const;
  void free(image::ValueId place);
  void adopt(image::ValueId value, BufferPtr buffer);  // which others have as well

  const BufferPtr& buffer(image::ValueId value) const;
  uint64_t offset(image::ValueId value) const;  // of the value in its buffer, in bytes
  const BufferPtr& own(image::ValueId value) const { return own_[place_of(value)]; }
  // The bytes a binding of the whole value has: its bound, so that bind groups outlast extents.
  int64_t capacity(image::ValueId value, const image::Cells& cells) const;

  void borrow(image::ValueId value, BufferPtr buffer);  // somebody else's, for this run
  // The device's buffer of a weight, where the tensor is not the one held already.
  void hold_weight(image::ValueId value, const Tensor& tensor);
  // Room for an output that stays on the device: what nobody holds any more serves again, so that
  // a cache handed from run to run takes two buffers in turn.
  std::shared_ptr<GpuMemory> keep(image::ValueId value, uint64_t bytes, const std::string& label);

  void upload(image::ValueId value, const Tensor& tensor);
  // The same, with a buffer of its own, when the tensor is not the one uploaded last.
  void upload_changed(image::ValueId value, const Tensor& tensor, int64_t capacity);

  ParamsBlock& params() { return params_; }
  BindGroups& groups() { return groups_; }
  const BufferPtr& staging(uint64_t bytes);
  // Changes whenever a buffer does: bind groups made before may be of others.
  uint64_t generation() const { return generation_; }

 private:
  size_t place_of(image::ValueId value) const { return size_t(image_.values[size_t(value)].place); }
  BufferPtr make(uint64_t bytes, BufferUse use, const std::string& label);
  void release(BufferPtr& buffer);

  const std::shared_ptr<LogicalDevice> device_;
  const image::Image& image_;
  Counters& counters_;
  const MemoryPlan* plan_ = nullptr;
  std::vector<BufferPtr> slots_;
  std::vector<BufferPtr> own_;       // by value, of places
  std::vector<BufferPtr> borrowed_;  // by value
  std::vector<StoredWeightPtr> weights_;
  std::vector<Tensor::Mark> marks_;  // of what the own buffers hold
  std::map<image::ValueId, std::vector<std::shared_ptr<GpuMemory>>> kept_;
  ParamsBlock params_;
  BindGroups groups_;
  BufferPtr staging_;
  std::vector<std::byte> scratch_;
  // Of the plan that bind groups were made for.
  std::vector<int> slot_of_;
  std::vector<int64_t> offset_of_, bytes_of_;
  uint64_t generation_ = 1;
};

// An Error where a plan gives a value of the device more bytes than a buffer of it holds.
void check_buffer_size(const image::Image& image, image::ValueId id, const MemoryPlan& plan,
                       const image::Cells& cells, const DeviceTraits& traits);

}  // namespace rlx::detail::webgpu
