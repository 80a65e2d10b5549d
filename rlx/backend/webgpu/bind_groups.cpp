#include "rlx/backend/webgpu/bind_groups.h"

namespace rlx::detail::webgpu {

namespace {
// A group keeps its buffers alive, so that those of tensors a user has dropped must not pile up;
// but the shards of one tensor are all used in every run.
constexpr size_t kMost = 8, kMostOfShards = 64;
}  // namespace

BindGroup* BindGroups::last(size_t record, size_t choice, uint64_t generation) const {
  if (record >= records_.size()) return nullptr;
  const Record& found = records_[record];
  return found.generation == generation && found.choice == choice ? found.last : nullptr;
}

BindGroup* BindGroups::get(Gpu& gpu, size_t record, size_t choice, uint64_t generation,
                           const Pipeline& pipeline, const std::vector<BufferRange>& ranges,
                           const BufferRange& params) {
  if (record >= records_.size()) records_.resize(record + 1);
  Record& at = records_[record];
  bool is_part = false;
  key_.assign(1, choice);
  for (const BufferRange& range : ranges) {
    key_.push_back(range.buffer->id());
    key_.push_back(range.offset);
    key_.push_back(range.bytes);
    is_part |= range.offset != 0;
  }
  at.generation = generation;
  at.choice = choice;
  for (const Group& group : at.groups)
    if (group.key == key_) return at.last = group.group.get();
  at.last = nullptr;
  Group made{key_, gpu.create_bind_group(pipeline, ranges, params)};
  ++counters_.bind_groups;
  at.last = made.group.get();
  if (at.groups.size() < (is_part ? kMostOfShards : kMost)) {
    at.groups.push_back(std::move(made));
  } else {
    at.next = (at.next + 1) % at.groups.size();
    retired_.push_back(std::move(at.groups[at.next].group));
    at.groups[at.next] = std::move(made);
  }
  return at.last;
}

void BindGroups::clear() {
  records_.clear();
  retired_.clear();
}

}  // namespace rlx::detail::webgpu
