// Loads a WebGPU library and recognises which build of Dawn it is.
#include "rlx/backend/webgpu/native_api.h"

#include <dlfcn.h>

#include "rlx/base/error.h"

namespace rlx::detail::webgpu::capi {

namespace {

constexpr Flavour kFlavours[] = {
    {"dawn-2025", "wgpuGetInstanceCapabilities", 0x12, 0x3, 0xA, 0x11, 0x50004},
    {"dawn-2026", "wgpuGetInstanceFeatures", 0x1, 0x9, 0xB, 0x12, 0x50004},
};

const Flavour* recognise(void* library) {
  const Flavour* found = nullptr;
  for (const Flavour& flavour : kFlavours) {
    if (!dlsym(library, flavour.symbol)) continue;
    if (found) return nullptr;  // both: a build of some other time
    found = &flavour;
  }
  return found;
}

template <class Function>
void resolve(void* library, const char* name, const std::string& path, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) {
    fail(ErrorKind::device, path, " is not a build of Dawn that rlx knows: it has no ", name);
  }
}

}  // namespace

std::shared_ptr<const Api> load_api(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    fail(ErrorKind::device, "cannot load ", path, ": ", reason ? reason : "no reason given");
  }
  auto api = std::make_shared<Api>();
  api->path = path;
  resolve(library, "wgpuCreateInstance", path, api->CreateInstance);
  api->flavour = recognise(library);
  if (!api->flavour) {
    fail(ErrorKind::device, path, " is a WebGPU library, but neither of the builds rlx knows (",
         kFlavours[0].name, ", ", kFlavours[1].name, ")");
  }
#define RLX_WEBGPU_RESOLVE(result, name, arguments) resolve(library, "wgpu" #name, path, api->name);
  RLX_WEBGPU_FUNCTIONS(RLX_WEBGPU_RESOLVE)
#undef RLX_WEBGPU_RESOLVE
  return api;
}

Instance Api::create_instance() const {
  if (flavour == &kFlavours[0]) {
    InstanceDescriptor2025 descriptor;
    descriptor.timed_wait_any = 1;
    descriptor.timed_wait_any_max_count = 8;
    return CreateInstance(&descriptor);
  }
  constexpr uint32_t kTimedWaitAny = 1;
  InstanceDescriptor2026 descriptor;
  descriptor.feature_count = 1;
  descriptor.features = &kTimedWaitAny;
  return CreateInstance(&descriptor);
}

bool Api::wait(Instance instance, Future future, uint64_t nanoseconds) const {
  FutureWait info{future, 0};
  return InstanceWaitAny(instance, 1, &info, nanoseconds) == kSuccess && info.completed;
}

}  // namespace rlx::detail::webgpu::capi
