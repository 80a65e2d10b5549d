#include "rlx/conformance/test_devices.h"

#include <cstdlib>
#include <sstream>

namespace rlx {
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

}  // namespace

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
  return find(test_devices(), name);
}

std::optional<Device> test_device(const std::string& name, const FindOptions& options) {
  return find(open(options), name);
}

}  // namespace rlx
