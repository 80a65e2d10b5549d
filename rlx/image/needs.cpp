#include "rlx/image/needs.h"

#include <algorithm>
#include <vector>

namespace rlx::image {

Needs needs_of(const Image& image) {
  const DeviceTraits& traits = image.traits;
  Needs needs;
  needs.host = traits.on_host();
  if (needs.host) return needs;
  for (const Kernel& kernel : image.kernels) {
    needs.f16 |= kernel.f16;
    needs.subgroups |= kernel.subgroups;
    needs.storage_buffers =
        std::max(needs.storage_buffers, static_cast<int64_t>(kernel.bindings.size()));
    needs.workgroup_invocations =
        std::max(needs.workgroup_invocations, kernel.workgroup_invocations);
    needs.workgroup_bytes = std::max(needs.workgroup_bytes, kernel.workgroup_bytes);
    needs.storage_alignment = traits.storage_alignment;
    needs.uniform_alignment = traits.uniform_alignment;
  }
  if (needs.subgroups)
    needs.subgroup_min = traits.subgroup_min, needs.subgroup_max = traits.subgroup_max;
  const std::vector<Interval> ranges = ranges_of(image.numbers, Cells(image.numbers));
  int64_t largest = 0;
  for (const Value& value : image.values)
    if (const int64_t high = ranges[size_t(value.bytes)].high; !value.on_host && high != kUnbounded)
      largest =
          std::max(largest, high);  // what is not known yet is refused by the run that needs it
  needs.binding_bytes = std::min(largest, traits.max_binding_bytes);
  needs.buffer_bytes = std::min(largest, traits.max_buffer_bytes);
  return needs;
}

void check_device(const Image& image, const DeviceTraits& device) {
  const auto differ = [&](const auto&... parts) {
    fail(ErrorKind::unsupported, "the image was built for '", image.traits.name,
         "' and cannot run on '", device.name, "': ", parts...);
  };
  const Needs needs = needs_of(image);
  if (needs.host != device.on_host())
    differ("one is the CPU, the other is not; build it again for this device");
  if (needs.host) return;
  if (needs.f16 && !device.f16) differ("it needs f16");
  if (needs.subgroups && (!device.subgroups || device.subgroup_min < needs.subgroup_min ||
                          device.subgroup_max > needs.subgroup_max))
    differ("it needs subgroups of ", needs.subgroup_min, " to ", needs.subgroup_max);
  const auto at_least = [&](const char* what, int64_t needed, int64_t there) {
    if (needed > there) differ("it needs ", what, " of ", needed, ", the limit is ", there);
  };
  at_least("storage buffers", needs.storage_buffers, device.max_storage_buffers);
  at_least("bindings in bytes", needs.binding_bytes, device.max_binding_bytes);
  at_least("buffers in bytes", needs.buffer_bytes, device.max_buffer_bytes);
  at_least("invocations", needs.workgroup_invocations, device.max_workgroup_invocations);
  at_least("workgroup memory", needs.workgroup_bytes, device.max_workgroup_bytes);
  if (image.kernels.empty()) return;
  at_least("binding offsets", device.storage_alignment, needs.storage_alignment);
  at_least("uniform offsets", device.uniform_alignment, needs.uniform_alignment);
}

}  // namespace rlx::image
