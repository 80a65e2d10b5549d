#include "rlx/backend/webgpu/webgpu_device.h"

#include "rlx/backend/webgpu/executor.h"

namespace rlx::webgpu {

std::shared_ptr<Gpu> WebGpuDevice::gpu() {
  const std::lock_guard lock(mutex_);
  if (!gpu_ || gpu_->lost()) {
    pipelines_.clear();
    gpu_ = open_();
  }
  return gpu_;
}

std::vector<PipelinePtr> WebGpuDevice::pipelines(Gpu& gpu,
                                                 const std::vector<const RenderedKernel*>& kernels,
                                                 uint64_t& compiled) {
  // Not locked while it waits: what is called back meanwhile may want pipelines too.
  std::map<std::string, PipelinePtr> ready;
  {
    const std::lock_guard lock(mutex_);
    for (const RenderedKernel* kernel : kernels)
      if (const auto found = pipelines_.find(kernel->wgsl);
          gpu_.get() == &gpu && found != pipelines_.end())
        ready.insert(*found);
  }
  struct Pending {
    Ticket ticket = 0;
    PipelinePtr pipeline;
    std::optional<Error> error;
    const RenderedKernel* kernel = nullptr;
  };
  std::map<std::string, Pending> pending;
  for (const RenderedKernel* kernel : kernels) {
    if (ready.count(kernel->wgsl) || pending.count(kernel->wgsl)) continue;
    Pending& entry = pending[kernel->wgsl];
    entry.kernel = kernel;
    PipelineSource source{
        kernel->label, kernel->wgsl, {}, static_cast<uint64_t>(kernel->params.bytes)};
    for (const Access access : kernel->bindings)
      source.storage.push_back(access == Access::read ? BindingAccess::read
                                                      : BindingAccess::read_write);
    entry.ticket = gpu.create_pipeline(source, [&entry](Result<PipelinePtr> result) {
      if (result.ok())
        entry.pipeline = result.take();
      else
        entry.error = result.error();
    });
  }
  for (auto& [wgsl, entry] : pending) {
    gpu.wait(entry.ticket);
    ++compiled;
  }
  for (auto& [wgsl, entry] : pending) {
    if (entry.error) {
      const std::string message = entry.error->what();
      throw Error(entry.error->kind(),
                  text("kernel ", entry.kernel->label, ": ", map_error(*entry.kernel, message)));
    }
    ready.emplace(wgsl, entry.pipeline);
  }
  {
    const std::lock_guard lock(mutex_);
    if (gpu_.get() == &gpu) pipelines_.insert(ready.begin(), ready.end());
  }
  std::vector<PipelinePtr> found;
  for (const RenderedKernel* kernel : kernels) found.push_back(ready.at(kernel->wgsl));
  return found;
}

std::shared_ptr<Executable> WebGpuDevice::prepare(std::shared_ptr<const Compiled> compiled) {
  return make_executor(shared_from_this(), std::move(compiled));
}

}  // namespace rlx::webgpu
