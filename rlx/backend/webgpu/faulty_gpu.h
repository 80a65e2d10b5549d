// A device on which one call goes wrong, or whose memory was used before: for tests of what a
// program survives.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"

namespace rlx::detail::webgpu {

// Which call fails, counted over all devices that share it, and how.
struct Fault {
  enum class Kind { none, loss, refusal, out_of_memory, used_memory } kind = Kind::none;
  int at = 0;     // the call that fails; for out_of_memory only buffers count
  int calls = 0;  // so far
  bool struck = false;

  bool strikes() {
    if (struck || calls++ != at) return false;
    return struck = true;
  }
};

class FaultyGpu : public Gpu {
 public:
  FaultyGpu(std::shared_ptr<Gpu> gpu, std::shared_ptr<Fault> fault)
      : gpu_(std::move(gpu)), fault_(std::move(fault)) {}

  const AdapterInfo& info() const override { return gpu_->info(); }
  BufferPtr create_buffer(uint64_t bytes, BufferUse use, const std::string& label) override {
    if (fault_->kind == Fault::Kind::out_of_memory && fault_->strikes())
      throw Error(ErrorKind::out_of_memory, label + ": the test has no memory left");
    step();
    BufferPtr buffer = gpu_->create_buffer(bytes, use, label);
    // What steps share is not zeros for long, and whoever needs zeros must write them.
    if (fault_->kind == Fault::Kind::used_memory && label.compare(0, 4, "slot") == 0)
      gpu_->write(*buffer, 0, std::vector<std::byte>(bytes, std::byte{0x7f}));
    return buffer;
  }
  void write(Buffer& buffer, uint64_t offset, std::span<const std::byte> data) override {
    step();
    gpu_->write(buffer, offset, data);
  }
  Ticket create_pipeline(const PipelineSource& source, Done<PipelinePtr> done) override {
    step();
    return gpu_->create_pipeline(source, std::move(done));
  }
  BindGroupPtr create_bind_group(const Pipeline& pipeline, std::span<const BufferRange> storage,
                                 const BufferRange& params) override {
    step();
    return gpu_->create_bind_group(pipeline, storage, params);
  }
  Ticket submit(std::span<const Command> commands, const SubmitOptions& options,
                Done<SubmitTimes> times) override {
    step();
    return gpu_->submit(commands, options, std::move(times));
  }
  Ticket read(Buffer& staging, uint64_t offset, uint64_t bytes,
              Done<std::span<const std::byte>> take, std::function<void()> done) override {
    step();
    return gpu_->read(staging, offset, bytes, std::move(take), std::move(done));
  }
  Ticket finish(Done<bool> done) override {
    step();
    return gpu_->finish(std::move(done));
  }
  void wait(Ticket ticket) override { gpu_->wait(ticket); }
  void poll() override { gpu_->poll(); }
  std::optional<std::string> lost() const override { return gpu_->lost(); }
  void force_loss(const std::string& reason) override { gpu_->force_loss(reason); }
  Counters counters() const override { return gpu_->counters(); }

 private:
  void step() {
    if (fault_->kind == Fault::Kind::loss && fault_->strikes()) gpu_->force_loss("a test");
    if (fault_->kind == Fault::Kind::refusal && fault_->strikes())
      throw Error(ErrorKind::device, "the test refuses");
  }

  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<Fault> fault_;
};

inline OpenGpu with_fault(OpenGpu open, std::shared_ptr<Fault> fault) {
  return [open = std::move(open), fault = std::move(fault)](Done<std::shared_ptr<Gpu>> done) {
    return open([fault, done = std::move(done)](Result<std::shared_ptr<Gpu>> opened) {
      if (!opened.ok()) return done(opened.error());
      done(std::shared_ptr<Gpu>(std::make_shared<FaultyGpu>(opened.take(), fault)));
    });
  };
}

}  // namespace rlx::detail::webgpu
