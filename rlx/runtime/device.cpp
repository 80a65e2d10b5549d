#include "rlx/runtime/device.h"

#include <algorithm>

#include "rlx/backend/cpu/cpu_backend.h"
#ifndef __EMSCRIPTEN__
#include "rlx/backend/webgpu/native.h"
#endif
#include "rlx/backend/webgpu/webgpu_device.h"
#include "rlx/base/error.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;

Device::Device() : Device(DeviceOptions{}) {}
Device::Device(const DeviceOptions& options)
    : Device(detail::device_of(make_cpu_backend({.threads = options.threads}))) {}
const DeviceTraits& Device::traits() const { return state_->backend->traits(); }

namespace detail {

Device device_of(std::shared_ptr<Backend> backend) {
  return Device(std::make_shared<const DeviceState>(DeviceState{std::move(backend)}));
}
const std::shared_ptr<Backend>& backend_of(const Device& device) { return device.state().backend; }

}  // namespace detail

namespace {

#ifndef __EMSCRIPTEN__
FoundDevice open(const FindOptions& options, const std::string& driver) {
  webgpu::NativeOptions native;
  native.libraries = options.webgpu_libraries;
  native.vulkan_driver = driver;
  native.backend = options.backend;
  native.power = options.power;
  native.max_binding_bytes = options.max_binding_bytes;
  native.max_buffer_bytes = options.max_buffer_bytes;
  native.allow_f16 = options.allow_f16;
  native.allow_subgroups = options.allow_subgroups;
  const std::shared_ptr<webgpu::Adapter> adapter = webgpu::find_adapter(native);
  const webgpu::AdapterInfo& info = adapter->info();
  auto device = std::make_shared<webgpu::WebGpuDevice>(
      info, [adapter] { return webgpu::open_gpu(*adapter); });
  return {detail::device_of(device), info.description, info.driver, info.api, info.library};
}

void find_webgpu(const FindOptions& options, FoundDevices& found) {
  if (options.webgpu_libraries.empty()) {
    found.missing.push_back({"WebGPU", "no WebGPU library was named"});
    return;
  }
  std::vector<std::string> drivers = options.vulkan_drivers;
  if (options.system_drivers) drivers.insert(drivers.begin(), "");
  for (const std::string& driver : drivers) {
    try {
      FoundDevice device = open(options, driver);
      const auto same = [&](const FoundDevice& other) {
        return other.description == device.description && other.driver == device.driver;
      };
      if (std::none_of(found.devices.begin(), found.devices.end(), same))
        found.devices.push_back(std::move(device));
    } catch (const Error& error) {
      found.missing.push_back({driver.empty() ? "the system's GPU" : driver, error.what()});
    }
  }
}
#else
void find_webgpu(const FindOptions&, FoundDevices&) {}
#endif

// Higher is better. A software adapter computes on the CPU too, and slower: it is for asking.
int rank_of(const Device& device) {
  switch (device.traits().device_class) {
    case DeviceClass::discrete:
      return 3;
    case DeviceClass::integrated:
      return 2;
    case DeviceClass::host:
      return 1;
    case DeviceClass::software:
      return 0;
  }
  return 0;
}

}  // namespace

FoundDevices find_all_devices(const FindOptions& options) {
  FoundDevices found;
  found.devices.push_back({Device(options.cpu), "the CPU", "", "", ""});
  find_webgpu(options, found);
  for (size_t i = 1; i < found.devices.size(); ++i)
    if (rank_of(found.devices[i].device) > rank_of(found.devices[found.automatic].device))
      found.automatic = i;
  const bool software =
      std::any_of(found.devices.begin(), found.devices.end(), [](const FoundDevice& device) {
        return device.device.traits().device_class == DeviceClass::software;
      });
  found.automatic_why = found.automatic > 0 ? "a GPU is faster than the CPU"
                        : software
                            ? "only software adapters were found, and those are slower than the CPU"
                            : "no GPU was found";
  return found;
}

Device FoundDevices::at(const std::string& name) const {
  if (name == "auto") return devices[automatic].device;
  for (const FoundDevice& found : devices)
    if (found.device.name() == name || (name == "gpu" && !found.device.is_cpu()))
      return found.device;
  std::vector<std::string> names;
  for (const FoundDevice& found : devices) names.push_back(found.device.name());
  std::string message = text("there is no device '", name, "'; there is ", joined(names));
  for (const MissingDevice& other : missing) message += text("\n  ", other.what, ": ", other.why);
  throw Error(ErrorKind::device, message);
}

std::vector<Device> find_devices(const FindOptions& options) {
  const FoundDevices found = find_all_devices(options);
  std::vector<Device> devices;
  for (const FoundDevice& device : found.devices) devices.push_back(device.device);
  std::stable_sort(devices.begin(), devices.end(),
                   [](const Device& a, const Device& b) { return rank_of(a) > rank_of(b); });
  return devices;
}

}  // namespace rlx
