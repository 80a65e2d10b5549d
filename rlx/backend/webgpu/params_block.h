// The params of all recorded dispatches, in one uniform buffer of a fixed size that is written from
// the front again when it is full.
#pragma once

#include <cstring>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/backend/webgpu/image_needs.h"

namespace rlx::detail::webgpu {

class ParamsBlock {
 public:
  ParamsBlock(uint64_t bytes, int64_t alignment)
      : alignment_(alignment), bytes_(bytes), uploaded_(bytes) {}

  uint64_t size() const { return bytes_.size(); }
  const BufferPtr& buffer() const { return buffer_; }
  void set_buffer(BufferPtr buffer) { buffer_ = std::move(buffer); }

  void rewind() { begin_ = end_ = 0; }  // a run starts at the front
  bool has_room(uint64_t bytes) const { return end_ + aligned(bytes, alignment_) <= bytes_.size(); }
  // Room for the params of one dispatch.
  std::span<std::byte> add(uint64_t bytes, uint32_t& offset) {
    offset = static_cast<uint32_t>(end_);
    end_ += aligned(bytes, alignment_);
    return std::span(bytes_).subspan(offset, bytes);
  }
  // Uploads what was added since the last time, where it is not what the buffer holds. Writes to a
  // buffer and submits happen in order, so that the place may be used again after a submit.
  void upload(Gpu& gpu) {
    uint64_t first = end_, last = begin_;
    for (uint64_t at = begin_; at < end_; at += static_cast<uint64_t>(alignment_)) {
      if (std::memcmp(&bytes_[at], &uploaded_[at], static_cast<size_t>(alignment_)) == 0) continue;
      first = std::min(first, at);
      last = at + static_cast<uint64_t>(alignment_);
    }
    begin_ = end_;
    if (first >= last) return;
    gpu.write(*buffer_, first, std::span(bytes_).subspan(first, last - first));
    std::memcpy(&uploaded_[first], &bytes_[first], last - first);
  }

 private:
  int64_t alignment_;
  std::vector<std::byte> bytes_, uploaded_;  // to be, and as the buffer holds it
  uint64_t begin_ = 0, end_ = 0;             // what was added since the last upload
  BufferPtr buffer_;                         // zeros at first, as both of those are
};

}  // namespace rlx::detail::webgpu
