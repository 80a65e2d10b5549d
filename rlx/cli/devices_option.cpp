// Where to look for devices. The library reads no environment; this is the place that does.

#include "rlx/cli/devices_option.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace rlx::cli {
namespace {

namespace fs = std::filesystem;

// A variable that is set decides, also when it is set to nothing.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return {};
  return value;
}

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(separator, begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Only what is beside the program, or where the system keeps libraries: what is loaded runs, so it
// must not be what happens to lie in the folder that the program is started in.
std::vector<std::string> usual_libraries() {
  std::vector<std::string> libraries;
  for (const char* file : {"libwebgpu_wrapper.so", "libwebgpu_dawn.so"})
    if (const auto beside = find_beside(file)) libraries.push_back(*beside);
  libraries.emplace_back("libwebgpu_dawn.so");  // as the system finds it
  return libraries;
}

}  // namespace

void add_device_options(CLI::App& app, Context& context) {
  const std::string group = "Devices";
  app.add_option("--threads", context.threads, "Threads of the CPU; 0: one for each core")
      ->check(CLI::Range(0, kMostThreads).description(""))
      ->type_name("N")
      ->group(group);
  app.add_option("--webgpu-library", context.webgpu_libraries,
                 "The WebGPU library, instead of $RLX_WEBGPU_LIBRARY, one beside rlx, the system's")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--vulkan-driver", context.vulkan_drivers,
                 "A Vulkan driver manifest to use instead of $RLX_VULKAN_DRIVERS and the system's")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
}

std::optional<std::string> find_beside(const std::string& path) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error || !program.is_absolute()) return std::nullopt;
  const fs::path found = (program.parent_path() / path).lexically_normal();
  return fs::exists(found, error) ? std::optional(found.string()) : std::nullopt;
}

FindOptions Context::find_options() const {
  FindOptions options;
  options.cpu.threads = threads;
  options.webgpu_libraries = webgpu_libraries;
  if (webgpu_libraries.empty()) {
    const auto library = environment("RLX_WEBGPU_LIBRARY");
    options.webgpu_libraries = library ? split(*library, ':') : usual_libraries();
  }
  options.vulkan_drivers = vulkan_drivers;
  options.system_drivers = vulkan_drivers.empty();
  if (vulkan_drivers.empty()) {
    const auto drivers = environment("RLX_VULKAN_DRIVERS");
    if (drivers) options.vulkan_drivers = split(*drivers, ':');
  }
  return options;
}

const FoundDevices& Context::devices() {
  if (!found) found = find_all_devices(find_options());
  return *found;
}

Device Context::device(const std::string& name) {
  if (name == "cpu") return Device({.threads = threads});  // always there: no need to look
  return devices().at(name);
}

}  // namespace rlx::cli
