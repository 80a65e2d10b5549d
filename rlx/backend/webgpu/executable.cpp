// A program as its user holds it.
#include "rlx/backend/webgpu/executor.h"

namespace rlx::detail::webgpu {

namespace {

// Every call holds the executor by itself: a callback inside it may drop the program.
class Handle final : public Executable {
 public:
  Handle(std::shared_ptr<WebGpuDevice> device, std::shared_ptr<Executor> executor)
      : device_(std::move(device)), executor_(std::move(executor)) {}
  ~Handle() override { executor_->abandon(); }

  void run_async(RunRequest& request, RunDone done) override {
    held().executor->run_async(request, std::move(done));
  }
  void wait() override { held().executor->wait(); }
  void run(RunRequest& request) override { held().executor->run(request); }
  void set_weight(const std::string& name, const Tensor& tensor) override {
    held().executor->set_weight(name, tensor);
  }
  void read_state_async(const std::string& name, Receive<Tensor> done) override {
    held().executor->read_state_async(name, std::move(done));
  }
  Tensor read_state(const std::string& name) override { return held().executor->read_state(name); }
  void write_state(const std::string& name, const Tensor& tensor) override {
    held().executor->write_state(name, tensor);
  }
  void take_snapshot_async(RunDone done) override {
    held().executor->take_snapshot_async(std::move(done));
  }
  void take_snapshot() override { held().executor->take_snapshot(); }
  void restore_snapshot() override { held().executor->restore_snapshot(); }
  Counters counters() const override { return executor_->counters(); }

 private:
  struct Call {
    std::shared_ptr<WebGpuDevice> device;  // goes last
    std::shared_ptr<Executor> executor;
  };
  Call held() const { return {device_, executor_}; }

  const std::shared_ptr<WebGpuDevice> device_;
  const std::shared_ptr<Executor> executor_;
};

}  // namespace

ExecutablePtr make_executable(std::shared_ptr<WebGpuDevice> device,
                              std::shared_ptr<Executor> executor) {
  return std::make_shared<Handle>(std::move(device), std::move(executor));
}

}  // namespace rlx::detail::webgpu
