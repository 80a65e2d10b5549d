// WebGPU through a library loaded at run time: Dawn, in either of the builds we know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"

namespace rlx::detail::webgpu {

struct NativeOptions {
  // Candidates for the WebGPU library, tried in order; a name without a slash is looked up by the
  // system.
  std::vector<std::string> libraries;
  // A Vulkan driver manifest to use instead of what the Vulkan loader finds; empty: the loader's
  // choice.
  std::string vulkan_driver;
  std::string backend;  // vulkan, d3d12, metal; empty: the system's default order
  std::string power;    // low, high; empty: no preference
  // Lowers the device's limits so that small tensors reach the paths of large ones; 0 keeps them.
  int64_t max_binding_bytes = 0;
  int64_t max_buffer_bytes = 0;
  bool allow_f16 = true;  // false: behave like an adapter without shader-f16
  bool allow_subgroups = true;
};

// An adapter, from which devices are made; it remembers how to make one again after a loss.
class Adapter : public Waitable {
 public:
  virtual const AdapterInfo& info() const = 0;
  virtual Ticket request_device(Done<std::shared_ptr<Gpu>> done) const = 0;
};

// Finds one adapter. Where there is none, Error(device) has the reason: no library, one we do not
// know, no driver. What needs no device to be known is thrown at once. The answer comes while
// somebody waits for it, and at last when what was started is dropped.
Started find_adapter_async(const NativeOptions& options, Done<std::shared_ptr<Adapter>> done);
OpenGpu opener_of(std::shared_ptr<Adapter> adapter);

// The same, waited for.
std::shared_ptr<Adapter> find_adapter(const NativeOptions& options);
std::shared_ptr<Gpu> open_gpu(Adapter& adapter);

}  // namespace rlx::detail::webgpu
