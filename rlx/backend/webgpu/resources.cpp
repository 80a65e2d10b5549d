#include "rlx/backend/webgpu/resources.h"

#include "rlx/lower/storage.h"

namespace rlx::webgpu {
namespace {

uint64_t at_least_a_word(int64_t bytes) {
  return static_cast<uint64_t>(std::max<int64_t>((bytes + 3) / 4 * 4, 4));
}

}  // namespace

Tensor GpuMemory::read(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  if (const auto reason = gpu_->lost())
    fail(ErrorKind::device_lost, "the device of this tensor was lost: ", *reason);
  const uint64_t bytes =
      at_least_a_word(bytes_of(dtype, Dim(tensor.count()), gpu_->info().traits).number());
  const BufferPtr staging = gpu_->create_buffer(bytes, BufferUse::staging, "read");
  Command copy;
  copy.kind = Command::Kind::copy;
  copy.source = buffer_.get();
  copy.target = staging.get();
  copy.bytes = bytes;
  gpu_->submit({&copy, 1});
  std::optional<Error> failure;
  const Ticket ticket =
      gpu_->read(*staging, 0, bytes, [&](Result<std::span<const std::byte>> result) {
        if (result.ok())
          from_device(result.take(), tensor);
        else
          failure = result.error();
      });
  gpu_->wait(ticket);
  if (failure) throw *failure;
  return tensor;
}

Resources::Resources(std::shared_ptr<Gpu> gpu, const Lowered& lowered, Counters& counters)
    : gpu_(std::move(gpu)), lowered_(lowered), counters_(counters) {
  own_.resize(lowered.values.size());
  borrowed_.resize(lowered.values.size());
  uploaded_.resize(lowered.values.size());
}

BufferPtr Resources::make(uint64_t bytes, BufferUse use, const std::string& label) {
  ++counters_.buffers;
  ++generation_;
  return gpu_->create_buffer(bytes, use, label);
}

void Resources::fit(const MemoryPlan& plan) {
  plan_ = &plan;
  // Bind groups of a buffer that goes must go before anything can fail.
  const auto release = [&](BufferPtr& buffer) {
    if (buffer) groups_.clear();
    buffer = nullptr;  // freed before the larger one is made
  };
  slots_.resize(std::max(slots_.size(), plan.slot_bytes.size()));
  for (size_t s = 0; s < plan.slot_bytes.size(); ++s) {
    const uint64_t bytes = at_least_a_word(plan.slot_bytes[s]);
    if (slots_[s] && slots_[s]->bytes() >= bytes) continue;
    release(slots_[s]);
    slots_[s] = make(bytes, BufferUse::storage, text("slot ", s));
  }
  for (size_t v = 0; v < lowered_.values.size(); ++v) {
    const ValueKind kind = lowered_.values[v].kind;
    if (kind == ValueKind::result || kind == ValueKind::temporary) continue;
    const uint64_t bytes = at_least_a_word(plan.bytes_of[v]);
    if (own_[v] && own_[v]->bytes() >= bytes) continue;
    release(own_[v]);
    own_[v] = make(bytes, BufferUse::storage, lowered_.values[v].name);
    uploaded_[v] = {};
  }
}

void Resources::fit_late(ValueId value, int64_t bytes) {
  BufferPtr& own = own_[size_t(value)];
  if (own && own->bytes() >= at_least_a_word(bytes)) return;
  if (own) groups_.clear();
  own = nullptr;
  own = make(at_least_a_word(bytes), BufferUse::storage, lowered_.values[size_t(value)].name);
}

const BufferPtr& Resources::buffer(ValueId value) const {
  if (borrowed_[size_t(value)]) return borrowed_[size_t(value)];
  const int slot = plan_->slot_of[size_t(value)];
  return slot >= 0 ? slots_[size_t(slot)] : own_[size_t(plan_->root[size_t(value)])];
}

void Resources::borrow(ValueId value, BufferPtr buffer) {
  if (borrowed_[size_t(value)] == buffer) return;
  borrowed_[size_t(value)] = std::move(buffer);
  ++generation_;
}

std::shared_ptr<GpuMemory> Resources::keep(ValueId value, uint64_t bytes,
                                           const std::string& label) {
  auto& kept = kept_[value];
  for (size_t i = 0; i < kept.size();) {
    const bool free = kept[i].use_count() == 1;
    if (free && kept[i]->buffer()->bytes() >= bytes) return kept[i];
    if (free)
      kept.erase(kept.begin() + static_cast<int64_t>(i));  // too small from now on
    else
      ++i;
  }
  kept.push_back(std::make_shared<GpuMemory>(gpu_, make(bytes, BufferUse::storage, label)));
  return kept.back();
}

void Resources::upload(ValueId value, const Tensor& tensor, const std::string& what) {
  uploaded_[size_t(value)] = {};
  if (tensor.count() == 0) return;
  const int64_t bytes = bytes_of(tensor.dtype(), Dim(tensor.count()), gpu_->info().traits).number();
  std::span<const std::byte> data = tensor.bytes();
  const bool whole_words = data.size() % 4 == 0;
  if (!same_on_device(tensor.dtype(), gpu_->info().traits) || !whole_words) {
    conversion_.assign(static_cast<size_t>((bytes + 3) / 4 * 4), std::byte{0});
    to_device(tensor, conversion_, what);
    data = conversion_;
  }
  gpu_->write(*buffer(value), 0, data);
  ++counters_.uploads;
  counters_.upload_bytes += data.size();
}

void Resources::upload_changed(ValueId value, const Tensor& tensor, const std::string& what) {
  if (uploaded_[size_t(value)] == tensor.mark()) return;
  upload(value, tensor, what);
  uploaded_[size_t(value)] = tensor.mark();
}

BindGroupPtr Resources::bind_group(const void* dispatch, const Pipeline& pipeline,
                                   const std::vector<BufferRange>& ranges, uint64_t params_bytes) {
  GroupKey key{dispatch, {}};
  for (const BufferRange& range : ranges) {
    key.ranges.push_back(range.buffer->id());
    key.ranges.push_back(range.offset);
    key.ranges.push_back(range.bytes);
  }
  const auto found = groups_.find(key);
  if (found != groups_.end()) return found->second;
  if (groups_.size() > 65536) groups_.clear();  // inputs that stay on the device come and go
  BindGroupPtr group = gpu_->create_bind_group(pipeline, ranges, {params_, 0, params_bytes});
  ++counters_.bind_groups;
  groups_.emplace(std::move(key), group);
  return group;
}

const BufferPtr& Resources::params(uint64_t bytes) {
  if (!params_ || params_->bytes() < bytes) {
    params_ = make(std::max<uint64_t>(bytes, params_ ? 2 * params_->bytes() : bytes),
                   BufferUse::params, "params");
    groups_.clear();  // they hold the old one
  }
  return params_;
}

const BufferPtr& Resources::staging(uint64_t bytes) {
  if (!staging_ || staging_->bytes() < bytes) {
    staging_ = nullptr;
    staging_ = make(bytes, BufferUse::staging, "staging");
  }
  return staging_;
}

}  // namespace rlx::webgpu
