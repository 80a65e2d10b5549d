// Finds an adapter: loads a library, asks it for one, describes it, makes devices from it.
#include "rlx/backend/webgpu/native.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "rlx/backend/webgpu/native_gpu.h"

namespace rlx::detail::webgpu {

namespace {

// The Vulkan loader can be told its driver only through the environment, which it reads when an
// instance is made: set for that moment, then put back. The environment is the process's, hence
// the one lock.
class DriverChoice {
 public:
  explicit DriverChoice(const std::string& manifest) : lock_(mutex()) {
    if (manifest.empty()) return;
    for (Saved& saved : saved_) {
      if (const char* value = std::getenv(saved.name)) saved.value = value;
      setenv(saved.name, manifest.c_str(), 1);
    }
    chosen_ = true;
  }
  DriverChoice(const DriverChoice&) = delete;
  ~DriverChoice() {
    if (!chosen_) return;
    for (const Saved& saved : saved_) {
      if (saved.value) {
        setenv(saved.name, saved.value->c_str(), 1);
      } else {
        unsetenv(saved.name);
      }
    }
  }

 private:
  struct Saved {
    const char* name;
    std::optional<std::string> value = std::nullopt;
  };
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  const std::lock_guard<std::mutex> lock_;
  Saved saved_[2] = {{"VK_DRIVER_FILES"}, {"VK_ICD_FILENAMES"}};
  bool chosen_ = false;
};

std::shared_ptr<const capi::Api> load_first(const std::vector<std::string>& libraries) {
  std::vector<std::string> reasons;
  for (const std::string& library : libraries) {
    try {
      return capi::load_api(library);
    } catch (const Error& error) {
      reasons.emplace_back(error.what());
    }
  }
  if (reasons.empty()) fail(ErrorKind::device, "no WebGPU library was named to look for");
  fail(ErrorKind::device, "no WebGPU library: ", joined(reasons, "; "));
}

// Dawn would also offer its null and OpenGL backends; a system's own API is the one to use.
uint32_t backend_number(const std::string& backend) {
  if (backend == "vulkan") return capi::kVulkan;
  if (backend == "d3d12") return capi::kD3d12;
  if (backend == "metal") return capi::kMetal;
  if (!backend.empty()) fail(ErrorKind::device, "unknown WebGPU backend '", backend, "'");
#if defined(_WIN32)
  return capi::kD3d12;
#elif defined(__APPLE__)
  return capi::kMetal;
#else
  return capi::kVulkan;
#endif
}

uint32_t power_number(const std::string& power) {
  if (power == "low") return capi::kLowPower;
  if (power == "high") return capi::kHighPower;
  if (!power.empty()) fail(ErrorKind::device, "unknown power preference '", power, "'");
  return capi::kAnyPower;
}

std::string api_name(uint32_t backend) {
  if (backend == capi::kVulkan) return "vulkan";
  if (backend == capi::kD3d12) return "d3d12";
  if (backend == capi::kMetal) return "metal";
  return text("backend ", backend);
}

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string short_name(const capi::AdapterInfo& info) {
  const std::string all = lower(info.device.str() + " " + info.description.str());
  if (all.find("llvmpipe") != std::string::npos) return "lavapipe";
  if (all.find("swiftshader") != std::string::npos) return "swiftshader";
  for (const std::string& name : {info.vendor.str(), info.architecture.str()}) {
    if (!name.empty()) return lower(name);
  }
  return "gpu";
}

DeviceClass class_of(uint32_t type) {
  if (type == capi::kDiscreteGpu) return DeviceClass::discrete;
  if (type == capi::kCpu) return DeviceClass::software;
  return DeviceClass::integrated;  // unknown ones too: assume less
}

int64_t lowered(uint64_t limit, int64_t wanted) {
  const auto own = static_cast<int64_t>(std::min<uint64_t>(limit, INT64_MAX));
  return wanted > 0 ? std::min(own, wanted) : own;
}

DeviceTraits describe_traits(const AdapterCore& core, const capi::AdapterInfo& info,
                             const NativeOptions& options) {
  const capi::Flavour& flavour = *core.api->flavour;
  const auto has = [&](uint32_t feature) {
    return core.api->AdapterHasFeature(core.adapter, feature) != 0;
  };
  DeviceTraits traits;
  traits.name = short_name(info);
  traits.device_class = class_of(info.type);
  traits.f16 = options.allow_f16 && has(flavour.shader_f16);
  traits.subgroups = options.allow_subgroups && has(flavour.subgroups);
  traits.timestamps = has(flavour.timestamp_query);
  if (traits.subgroups) {
    traits.subgroup_min = info.subgroup_min;
    traits.subgroup_max = info.subgroup_max;
  }
  const capi::Limits& limits = core.limits;
  traits.max_binding_bytes = lowered(limits.storage_binding_bytes, options.max_binding_bytes);
  traits.max_buffer_bytes = lowered(limits.buffer_bytes, options.max_buffer_bytes);
  traits.max_storage_buffers = limits.storage_buffers_per_stage;
  traits.max_workgroup_invocations = limits.workgroup_invocations;
  traits.max_workgroup_bytes = limits.workgroup_bytes;
  traits.max_workgroups = limits.workgroups_per_dimension;
  traits.storage_alignment = limits.storage_alignment;
  traits.uniform_alignment = limits.uniform_alignment;
  return traits;
}

AdapterInfo describe(const AdapterCore& core, const NativeOptions& options) {
  capi::AdapterInfo info;
  core.api->AdapterGetInfo(core.adapter, &info);
  AdapterInfo result;
  result.traits = describe_traits(core, info, options);
  result.description = info.device.str();
  result.driver = info.description.str();
  result.vendor = info.vendor.str();
  result.api = api_name(info.backend);
  result.library = core.api->path;
  result.flavour = core.api->flavour->name;
  const bool real = info.backend != capi::kNull;
  core.api->AdapterInfoFreeMembers(info);
  if (!real) fail(ErrorKind::device, "the WebGPU library only offers its null adapter");
  return result;
}

std::string why_none(uint32_t backend, const std::string& message) {
  if (backend != capi::kVulkan) return message;
  void* loader = dlopen("libvulkan.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!loader) return message + "; the Vulkan loader libvulkan.so.1 is not installed";
  dlclose(loader);
  return message;
}

class RequestOperation final : public Operation {
 public:
  RequestOperation(std::shared_ptr<DeviceCore> core, Done<std::shared_ptr<Gpu>> done)
      : core_(std::move(core)), done_(std::move(done)) {}

  void deliver() override {
    if (!device) {
      if (done_) done_(Error(ErrorKind::device, "no device: " + message));
      return;
    }
    core_->adopt(device);
    auto gpu = std::make_shared<NativeGpu>(std::move(core_));
    if (done_) done_(std::shared_ptr<Gpu>(std::move(gpu)));
  }

  capi::Device device = nullptr;
  std::string message;

 private:
  std::shared_ptr<DeviceCore> core_;
  const Done<std::shared_ptr<Gpu>> done_;
};

class NativeAdapter final : public Adapter {
 public:
  explicit NativeAdapter(std::shared_ptr<const AdapterCore> core)
      : core_(std::move(core)), events_(std::make_shared<Events>(*core_->api, core_->instance)) {}
  ~NativeAdapter() override { events_->wait_all(); }

  const AdapterInfo& info() const override { return core_->info; }
  void wait(Ticket ticket) override { events_->wait(ticket); }

  Ticket request_device(Done<std::shared_ptr<Gpu>> done) const override {
    const capi::Flavour& flavour = *core_->api->flavour;
    const DeviceTraits& traits = core_->info.traits;
    std::vector<uint32_t> features = {flavour.core};
    if (traits.f16) features.push_back(flavour.shader_f16);
    if (traits.subgroups) features.push_back(flavour.subgroups);
    if (traits.timestamps) features.push_back(flavour.timestamp_query);
    if (core_->api->AdapterHasFeature(core_->adapter, flavour.implicit_synchronization)) {
      features.push_back(flavour.implicit_synchronization);  // else one thread at a time
    }
    const char* const coarse_times = "timestamp_quantization";
    capi::DawnToggles toggles;
    toggles.disabled_count = 1;
    toggles.disabled = &coarse_times;

    const auto device = std::make_shared<DeviceCore>(core_);
    capi::DeviceDescriptor descriptor;
    descriptor.next = &toggles.chain;
    descriptor.feature_count = features.size();
    descriptor.features = features.data();
    descriptor.limits = &core_->limits;
    device->add_callbacks(descriptor);

    const auto operation = std::make_shared<RequestOperation>(device, std::move(done));
    const Ticket ticket = events_->start(operation, 1);
    capi::CallbackInfo<capi::DeviceCallback> info;
    info.user1 = events_->token(operation);
    info.callback = [](uint32_t, capi::Device made, capi::StringView message, void* user, void*) {
      Events::arrived<RequestOperation>(user, [&](RequestOperation& request) {
        request.device = made;
        request.message = message.str();
      });
    };
    events_->add_future(*operation,
                        core_->api->AdapterRequestDevice(core_->adapter, &descriptor, info));
    return ticket;
  }

 private:
  const std::shared_ptr<const AdapterCore> core_;
  const std::shared_ptr<Events> events_;
};

// The library has answered whether it has an adapter.
class AdapterOperation final : public Operation {
 public:
  AdapterOperation(std::shared_ptr<AdapterCore> core, NativeOptions options, uint32_t backend,
                   Done<std::shared_ptr<Adapter>> done)
      : core_(std::move(core)),
        options_(std::move(options)),
        backend_(backend),
        done_(std::move(done)) {}

  void deliver() override {
    std::optional<Result<std::shared_ptr<Adapter>>> result;
    try {
      result = made();
    } catch (...) {
      result = current_error();
    }
    done_(std::move(*result));
  }

  capi::Adapter adapter = nullptr;
  std::string message;

 private:
  std::shared_ptr<Adapter> made() {
    core_->adapter = adapter;
    const std::string& driver = options_.vulkan_driver;
    if (!adapter)
      fail(ErrorKind::device, "no ", api_name(backend_), " adapter with ",
           driver.empty() ? "the system's drivers" : "driver " + driver, " (library ",
           core_->api->path, "): ", why_none(backend_, message));
    // A wrong table of feature numbers would ask for the wrong things: every adapter has this one.
    if (!core_->api->AdapterHasFeature(adapter, core_->api->flavour->core))
      fail(ErrorKind::device, core_->api->path, " does not number its features as ",
           core_->api->flavour->name, " does");
    core_->api->AdapterGetLimits(adapter, &core_->limits);
    core_->limits.next = nullptr;
    core_->info = describe(*core_, options_);
    return std::make_shared<NativeAdapter>(std::move(core_));
  }

  std::shared_ptr<AdapterCore> core_;
  const NativeOptions options_;
  const uint32_t backend_;
  const Done<std::shared_ptr<Adapter>> done_;
};

// An instance that was asked for an adapter.
class AdapterRequest final : public Waitable {
 public:
  explicit AdapterRequest(std::shared_ptr<AdapterCore> core) : core_(std::move(core)) {}
  ~AdapterRequest() override { events_->wait_all(); }
  void wait(Ticket ticket) override { events_->wait(ticket); }

  Ticket start(const capi::RequestAdapterOptions& request, const NativeOptions& options,
               Done<std::shared_ptr<Adapter>> done) {
    const auto operation =
        std::make_shared<AdapterOperation>(core_, options, request.backend, std::move(done));
    const Ticket ticket = events_->start(operation, 1);
    capi::CallbackInfo<capi::AdapterCallback> info;
    info.user1 = events_->token(operation);
    info.callback = [](uint32_t, capi::Adapter adapter, capi::StringView message, void* user,
                       void*) {
      Events::arrived<AdapterOperation>(user, [&](AdapterOperation& answer) {
        answer.adapter = adapter;
        answer.message = message.str();
      });
    };
    events_->add_future(*operation,
                        core_->api->InstanceRequestAdapter(core_->instance, &request, info));
    return ticket;
  }

 private:
  const std::shared_ptr<AdapterCore> core_;
  const std::shared_ptr<Events> events_ = std::make_shared<Events>(*core_->api, core_->instance);
};

}  // namespace

Started find_adapter_async(const NativeOptions& options, Done<std::shared_ptr<Adapter>> done) {
  capi::RequestAdapterOptions request;
  request.backend =
      options.vulkan_driver.empty() ? backend_number(options.backend) : uint32_t{capi::kVulkan};
  request.power = power_number(options.power);
  if (!options.vulkan_driver.empty() && !std::filesystem::exists(options.vulkan_driver)) {
    fail(ErrorKind::device, "the Vulkan driver manifest ", options.vulkan_driver,
         " does not exist");
  }
  auto core = std::make_shared<AdapterCore>();
  core->api = load_first(options.libraries);
  // The library asks its drivers while it is called; only the answer comes later.
  const DriverChoice choice(options.vulkan_driver);
  core->instance = core->api->create_instance();
  if (!core->instance) fail(ErrorKind::device, core->api->path, " makes no WebGPU instance");
  const auto asked = std::make_shared<AdapterRequest>(std::move(core));
  const Ticket ticket = asked->start(request, options, std::move(done));
  return {asked, ticket};
}

OpenGpu opener_of(std::shared_ptr<Adapter> adapter) {
  return [adapter = std::move(adapter)](Done<std::shared_ptr<Gpu>> done) -> Started {
    return {adapter, adapter->request_device(std::move(done))};
  };
}

std::shared_ptr<Adapter> find_adapter(const NativeOptions& options) {
  std::optional<Result<std::shared_ptr<Adapter>>> answer;
  const Started started = find_adapter_async(
      options, [&](Result<std::shared_ptr<Adapter>> result) { answer = std::move(result); });
  started.by->wait(started.ticket);
  return answer->take();
}

std::shared_ptr<Gpu> open_gpu(Adapter& adapter) {
  std::optional<Result<std::shared_ptr<Gpu>>> answer;
  adapter.wait(adapter.request_device(
      [&](Result<std::shared_ptr<Gpu>> result) { answer = std::move(result); }));
  return answer->take();
}

}  // namespace rlx::detail::webgpu
