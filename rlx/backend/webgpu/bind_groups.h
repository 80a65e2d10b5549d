// The bind groups of a program: a few for each dispatch, since an input that stays on the device
// may be one of several buffers, and a window one of several places.
#pragma once

#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/base/report.h"

namespace rlx::detail::webgpu {

class BindGroups {
 public:
  explicit BindGroups(Counters& counters) : counters_(counters) {}

  // The group a dispatch had last, where no buffer has changed since.
  BindGroup* last(size_t record, size_t choice, uint64_t generation) const;
  BindGroup* get(Gpu& gpu, size_t record, size_t choice, uint64_t generation,
                 const Pipeline& pipeline, const std::vector<BufferRange>& ranges,
                 const BufferRange& params);
  // Those that made room for others are needed until what was recorded is submitted.
  void submitted() { retired_.clear(); }
  void clear();

 private:
  struct Group {
    std::vector<uint64_t> key;
    BindGroupPtr group;
  };
  struct Record {
    uint64_t generation = 0;
    size_t choice = 0;
    BindGroup* last = nullptr;
    std::vector<Group> groups;
    size_t next = 0;  // the one to make room
  };

  Counters& counters_;
  std::vector<Record> records_;
  std::vector<BindGroupPtr> retired_;
  std::vector<uint64_t> key_;
};

}  // namespace rlx::detail::webgpu
