// The devices that tests and benchmarks run on, opened once per process and shared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/backend/webgpu/faulty_gpu.h"
#include "rlx/runtime/device.h"

namespace rlx {

// From RLX_WEBGPU_LIBRARY and RLX_VULKAN_DRIVERS (manifests with ':' between); the CPU alone when
// they are not set.
FindOptions test_find_options();

// The CPU first.
const std::vector<Device>& test_devices();
// None when it is not there. Buffers that steps share do not begin as zeros: what leaves an element
// out is found.
std::optional<Device> test_device(const std::string& name);
// The same device opened again with other options: lowered limits, features left out.
std::optional<Device> test_device(const std::string& name, const FindOptions& options);
// A device that is no CPU, with a fault in it.
Device with_fault(const Device& device, const std::shared_ptr<detail::webgpu::Fault>& fault);

}  // namespace rlx
