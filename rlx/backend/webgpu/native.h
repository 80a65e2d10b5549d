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
class Adapter {
 public:
  virtual ~Adapter() = default;
  virtual const AdapterInfo& info() const = 0;
  virtual Ticket request_device(Done<std::shared_ptr<Gpu>> done) const = 0;
  virtual void wait(Ticket ticket) const = 0;
};

// Finds one adapter. Throws Error(device) with the reason when there is none: no library, one we
// do not know, no driver.
std::shared_ptr<Adapter> find_adapter(const NativeOptions& options);

// request_device, waited for.
std::shared_ptr<Gpu> open_gpu(const Adapter& adapter);

}  // namespace rlx::detail::webgpu
