#include "rlx/runtime/device.h"

#include <algorithm>
#include <optional>

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
void Device::wait() const { state_->backend->wait(); }

namespace detail {

Device device_of(std::shared_ptr<Backend> backend) {
  return Device(std::make_shared<const DeviceState>(DeviceState{std::move(backend)}));
}
const std::shared_ptr<Backend>& backend_of(const Device& device) { return device.state().backend; }

}  // namespace detail

namespace {

#ifndef __EMSCRIPTEN__
webgpu::NativeOptions native_options(const FindOptions& options, const std::string& driver) {
  webgpu::NativeOptions native;
  native.libraries = options.webgpu_libraries;
  native.vulkan_driver = driver;
  native.backend = options.backend;
  native.power = options.power;
  native.max_binding_bytes = options.max_binding_bytes;
  native.max_buffer_bytes = options.max_buffer_bytes;
  native.allow_f16 = options.allow_f16;
  native.allow_subgroups = options.allow_subgroups;
  return native;
}

FoundDevice device_on(const std::shared_ptr<webgpu::Adapter>& adapter) {
  const webgpu::AdapterInfo& info = adapter->info();
  auto device = std::make_shared<webgpu::WebGpuDevice>(info, webgpu::opener_of(adapter));
  return {detail::device_of(device), info.description, info.driver, info.api, info.library};
}
#endif

// Higher is better. A software adapter computes on the CPU too, and slower: it is taken only where
// it is asked for.
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

// Which of them `auto` takes, and why.
void choose_automatic(FoundDevices& found) {
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
}

}  // namespace

namespace detail {

// Asks for one adapter after the other. Natively the user's handle holds it, and its callbacks do
// not: a search that was dropped is over.
class Search : public std::enable_shared_from_this<Search> {
 public:
  Search(FindOptions options, Receive<FoundDevices> done)
      : options_(std::move(options)), done_(std::move(done)) {
    found_.devices.push_back({Device(options_.cpu), "the CPU", "", "", ""});
  }
  Search(const Search&) = delete;
  ~Search() {
    if (done_) done_(Error(ErrorKind::device, "find_devices: the search was dropped"));
  }

#ifdef __EMSCRIPTEN__
  void begin() { finish(); }
  void wait() {}
#else
  void begin() {
    if (options_.webgpu_libraries.empty()) {
      found_.missing.push_back({"WebGPU", "no WebGPU library was named"});
      return finish();
    }
    drivers_ = options_.vulkan_drivers;
    if (options_.system_drivers) drivers_.insert(drivers_.begin(), "");
    ask_next();
  }
  void wait() {
    while (done_) {
      const webgpu::Started started = started_;  // the callback starts another
      started.by->wait(started.ticket);
    }
  }

 private:
  void ask_next() {
    for (; asked_ < drivers_.size(); ++asked_) {
      try {
        started_ = webgpu::find_adapter_async(
            native_options(options_, drivers_[asked_]),
            [weak = weak_from_this()](Result<std::shared_ptr<webgpu::Adapter>> adapter) {
              if (const auto self = weak.lock()) self->arrive(std::move(adapter));
            });
        return;
      } catch (const Error& error) {
        miss(error);
      }
    }
    finish();
  }

  void arrive(Result<std::shared_ptr<webgpu::Adapter>> adapter) {
    if (adapter.ok())
      add(device_on(adapter.take()));
    else
      miss(adapter.error());
    ++asked_;
    ask_next();
  }

  void add(FoundDevice device) {
    const auto same = [&](const FoundDevice& other) {
      return other.description == device.description && other.driver == device.driver;
    };
    if (std::none_of(found_.devices.begin(), found_.devices.end(), same))
      found_.devices.push_back(std::move(device));
  }
  void miss(const Error& error) {
    const std::string& driver = drivers_[asked_];
    found_.missing.push_back({driver.empty() ? "the system's GPU" : driver, error.what()});
  }
  std::vector<std::string> drivers_;
  size_t asked_ = 0;
  webgpu::Started started_;
#endif

 private:
  void finish() {
    choose_automatic(found_);
    const Receive<FoundDevices> done = std::exchange(done_, nullptr);
    done(std::move(found_));
  }

  const FindOptions options_;
  Receive<FoundDevices> done_;
  FoundDevices found_;
};

}  // namespace detail

DeviceSearch find_devices_async(const FindOptions& options, Receive<FoundDevices> done) {
  const auto search = std::make_shared<Search>(options, std::move(done));
  search->begin();
  return DeviceSearch(search);
}

void DeviceSearch::wait() const { search_->wait(); }

FoundDevices find_all_devices(const FindOptions& options) {
  std::optional<Result<FoundDevices>> result;
  find_devices_async(options, [&](Result<FoundDevices> found) {
    result.emplace(std::move(found));
  }).wait();
  return result->take();
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
