// A WebGPU adapter as a device of rlx: its logical device, made again after a loss, and its
// pipelines.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rlx/backend/backend.h"
#include "rlx/backend/webgpu/gpu.h"
#include "rlx/codegen/render.h"

namespace rlx::webgpu {

// Makes logical devices of one adapter; native and web each have their own.
using OpenGpu = std::function<std::shared_ptr<Gpu>()>;

// Shared by the programs of one device.
class WebGpuDevice : public Backend, public std::enable_shared_from_this<WebGpuDevice> {
 public:
  WebGpuDevice(AdapterInfo info, OpenGpu open) : info_(std::move(info)), open_(std::move(open)) {}

  const DeviceTraits& traits() const override { return info_.traits; }
  const AdapterInfo& info() const { return info_; }
  std::shared_ptr<Executable> prepare(std::shared_ptr<const Compiled> compiled) override;

  // The logical device; a new one when the last was lost.
  std::shared_ptr<Gpu> gpu();
  // A pipeline for each kernel, compiled side by side where they are new. `compiled` counts those.
  std::vector<PipelinePtr> pipelines(Gpu& gpu, const std::vector<const RenderedKernel*>& kernels,
                                     uint64_t& compiled);

 private:
  AdapterInfo info_;
  OpenGpu open_;
  std::mutex mutex_;
  std::shared_ptr<Gpu> gpu_;
  std::map<std::string, PipelinePtr> pipelines_;  // by module text, of gpu_
};

}  // namespace rlx::webgpu
