#include "rlx/conformance/kernels.h"

#include <cstdio>
#include <map>

#include "rlx/compile/build_image.h"
#include "rlx/conformance/runner.h"

namespace rlx {

using namespace detail;
namespace {

uint64_t fnv1a(const std::string& text, uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}
constexpr uint64_t kFirst = 0xcbf29ce484222325u;

std::string digits_of(uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace

std::string fingerprint(const std::string& text) { return digits_of(fnv1a(text, kFirst)); }

std::vector<DeviceTraits> paper_devices() {
  DeviceTraits wide;
  wide.name = "with-f16";
  wide.device_class = DeviceClass::discrete;
  wide.f16 = wide.subgroups = true;
  wide.subgroup_min = wide.subgroup_max = 32;
  wide.max_binding_bytes = wide.max_buffer_bytes = int64_t{1} << 31;
  wide.max_workgroup_invocations = 1024;
  wide.max_workgroup_bytes = 32768;
  wide.storage_alignment = 16;
  DeviceTraits plain;
  plain.name = "plain";
  plain.device_class = DeviceClass::software;
  plain.max_binding_bytes = plain.max_buffer_bytes = int64_t{1} << 27;
  return {wide, plain};
}

std::vector<OpKernels> kernels_of(const std::vector<OpCase>& rows, const OpSet& ops) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> found;
  for (const OpCase& row : rows) {
    if (row.compose) continue;  // its kernels are those of its ops
    const CaseGraph built = case_graph(row, ops);
    for (const DeviceTraits& device : paper_devices())
      for (const image::Kernel& kernel : build_image(built.graph, device).kernels)
        found[{row.op, device.name}].insert(kernel.wgsl);
  }
  std::vector<OpKernels> kernels;
  for (auto& [key, modules] : found)
    if (!modules.empty()) kernels.push_back({key.first, key.second, std::move(modules)});
  return kernels;
}

std::string fingerprints(const std::vector<OpKernels>& kernels) {
  std::string lines;
  for (const OpKernels& op : kernels) {
    uint64_t hash = kFirst;
    for (const std::string& module : op.modules) hash = fnv1a(module, hash);
    lines += text(op.op, ' ', op.device, ' ', op.modules.size(), ' ', digits_of(hash), '\n');
  }
  return lines;
}

}  // namespace rlx
