// Buffers as tensors that stay on the device, and reading them.
#pragma once

#include <atomic>
#include <memory>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/error_flag.h"
#include "rlx/backend/webgpu/gpu.h"
#include "rlx/backend/webgpu/tickets.h"

namespace rlx::detail::webgpu {

class GpuMemory : public DeviceMemory {
 public:
  GpuMemory(std::shared_ptr<Gpu> gpu, std::shared_ptr<Tickets> tickets, BufferPtr buffer)
      : gpu_(std::move(gpu)), tickets_(std::move(tickets)), buffer_(std::move(buffer)) {}

  void read_async(DType dtype, const Shape& shape, Receive<Tensor> done) override;
  Tensor read(DType dtype, const Shape& shape) override;
  void wait_for_reads() override;

  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }
  const BufferPtr& buffer() const { return buffer_; }
  // Of the run that wrote it, and of those that wrote what it read; none where they cannot have
  // failed.
  void set_outcomes(OutcomeList outcomes) { outcomes_ = std::move(outcomes); }
  const OutcomeList& outcomes() const { return outcomes_; }
  // 64-bit integers in two words, as the host has them: other programs get them from there.
  void set_in_words(bool in_words) { in_words_ = in_words; }
  bool in_words() const { return in_words_; }
  // Such a one may not be written: the read takes the bytes when the outcome is known.
  bool is_being_read() const { return *reads_ > 0; }

 private:
  const std::shared_ptr<Gpu> gpu_;
  const std::shared_ptr<Tickets> tickets_;
  const BufferPtr buffer_;
  OutcomeList outcomes_;
  bool in_words_ = false;
  const std::shared_ptr<std::atomic<int>> reads_ = std::make_shared<std::atomic<int>>(0);
};

// Reads the elements at the start of a buffer. `done` is called exactly once, from a callback or,
// with an Error, at once; what it throws is kept for the device's own wait.
void read_buffer(const std::shared_ptr<Gpu>& gpu, const std::shared_ptr<Tickets>& tickets,
                 const void* owner, const BufferPtr& buffer, DType dtype, const Shape& shape,
                 Receive<Tensor> done);

}  // namespace rlx::detail::webgpu
