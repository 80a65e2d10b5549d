// The devices a program can run on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rlx/base/device_traits.h"
#include "rlx/base/result.h"
#include "rlx/base/shared.h"

namespace rlx {

namespace detail {
struct DeviceState;
class Search;
}  // namespace detail

// How the CPU is used.
struct DeviceOptions {
  int threads = 0;  // that compute; 0: one for each core
};

// How to look for devices. Nothing here comes from the environment: what is empty is not tried.
struct FindOptions {
  std::vector<std::string> webgpu_libraries;  // candidates, tried in order
  std::vector<std::string> vulkan_drivers;    // driver manifests, each a device of its own
  bool system_drivers = true;                 // and what the system's loader finds by itself
  std::string backend;                        // vulkan, d3d12, metal; empty: the system's default
  std::string power;                          // low, high
  // Lowered limits, so that small tensors take the paths of large ones; 0 keeps the device's.
  int64_t max_binding_bytes = 0, max_buffer_bytes = 0;
  bool allow_f16 = true, allow_subgroups = true;
  DeviceOptions cpu = {};
};

class Device {
 public:
  Device();  // the CPU
  explicit Device(const DeviceOptions& options);
  explicit Device(Shared<const detail::DeviceState> state) : state_(std::move(state)) {}

  const std::string& name() const { return traits().name; }
  const DeviceTraits& traits() const;
  bool is_cpu() const { return traits().on_host(); }
  // Natively callbacks of compile_async and of a device tensor's read_async arrive while somebody
  // waits: this waits until nothing is under way. A browser calls back by itself.
  void wait() const;
  const detail::DeviceState& state() const { return *state_; }

 private:
  Shared<const detail::DeviceState> state_;
};

struct FoundDevice {
  Device device;
  std::string description, driver, api, library;  // as the adapter says
};
struct MissingDevice {
  std::string what, why;
};
struct FoundDevices {
  std::vector<FoundDevice> devices;  // the CPU is always among them
  std::vector<MissingDevice> missing;
  size_t automatic = 0;  // which of them `auto` takes
  std::string automatic_why;

  // By name: cpu, gpu (the first that is not the CPU), auto, or a device's own name. An Error lists
  // what there is and why others are missing.
  Device at(const std::string& name) const;
};

// A search under way. Natively its callback arrives inside wait(), and a search that nobody holds
// any more ends with an Error; a browser calls back by itself.
class DeviceSearch {
 public:
  explicit DeviceSearch(Shared<detail::Search> search) : search_(std::move(search)) {}
  void wait() const;

 private:
  Shared<detail::Search> search_;
};
DeviceSearch find_devices_async(const FindOptions& options, Receive<FoundDevices> done);
FoundDevices find_all_devices(const FindOptions& options = {});  // waits

// The devices, best first. Waits.
std::vector<Device> find_devices(const FindOptions& options = {});

}  // namespace rlx
