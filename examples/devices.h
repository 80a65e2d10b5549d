// The device an example runs on: the best there is. The library itself reads no environment and
// looks into no folder, so the program says where the WebGPU library and drivers are.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>

#include "rlx/rlx.h"

inline rlx::Device best_device() {
  rlx::FindOptions options;
  const char* library = std::getenv("RLX_WEBGPU_LIBRARY");
  if (library && *library) options.webgpu_libraries = {library};
  if (const char* drivers = std::getenv("RLX_VULKAN_DRIVERS")) {
    std::istringstream list(drivers);
    for (std::string driver; std::getline(list, driver, ':');)
      if (!driver.empty()) options.vulkan_drivers.push_back(driver);
  }
  const char* wanted = std::getenv("RLX_DEVICE");
  return rlx::find_all_devices(options).at(wanted ? wanted : "auto");
}
