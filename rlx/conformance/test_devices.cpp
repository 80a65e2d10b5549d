#include "rlx/conformance/test_devices.h"

#include <cstdlib>
#include <sstream>

#include "rlx/backend/webgpu/webgpu_device.h"
#include "rlx/runtime/internals.h"

namespace rlx {

using namespace detail;
namespace {

std::optional<Device> find(const std::vector<Device>& devices, const std::string& name) {
  for (const Device& device : devices)
    if (device.name() == name) return device;
  return std::nullopt;
}

std::vector<Device> open(const FindOptions& options) {
  std::vector<Device> devices;
  for (const FoundDevice& found : find_all_devices(options).devices)
    devices.push_back(found.device);
  return devices;
}

Device used(const Device& device) {
  const auto fault = std::make_shared<webgpu::Fault>();
  fault->kind = webgpu::Fault::Kind::used_memory;
  return device.is_cpu() ? device : with_fault(device, fault);
}

}  // namespace

Device with_fault(const Device& device, const std::shared_ptr<webgpu::Fault>& fault) {
  const auto real = std::dynamic_pointer_cast<webgpu::WebGpuDevice>(detail::backend_of(device));
  return detail::device_of(std::make_shared<webgpu::WebGpuDevice>(
      real->info(), webgpu::with_fault(real->opener(), fault)));
}

FindOptions test_find_options() {
  FindOptions options;
  options.system_drivers = false;
  if (const char* library = std::getenv("RLX_WEBGPU_LIBRARY"))
    options.webgpu_libraries.emplace_back(library);
  if (const char* drivers = std::getenv("RLX_VULKAN_DRIVERS")) {
    std::istringstream list(drivers);
    for (std::string driver; std::getline(list, driver, ':');)
      if (!driver.empty()) options.vulkan_drivers.push_back(driver);
  }
  return options;
}

const std::vector<Device>& test_devices() {
  static const std::vector<Device> devices = open(test_find_options());
  return devices;
}

std::optional<Device> test_device(const std::string& name) {
  if (name == "cpu") return Device();
  static const std::vector<Device> devices = [] {
    std::vector<Device> all;
    for (const Device& device : test_devices()) all.push_back(used(device));
    return all;
  }();
  return find(devices, name);
}

std::optional<Device> test_device(const std::string& name, const FindOptions& options) {
  const std::optional<Device> found = find(open(options), name);
  return found ? std::optional(used(*found)) : std::nullopt;
}

}  // namespace rlx
