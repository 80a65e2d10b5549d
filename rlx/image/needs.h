// What an image needs of the device that is to run it.
#pragma once

#include <cstdint>

#include "rlx/image/image.h"

namespace rlx::image {

// The features and limits that the image's kernels and values make use of. Workgroups are not among
// them: a run lays its own out as its device allows.
struct Needs {
  bool host = true;  // the CPU; all that follows is of other devices
  bool f16 = false, subgroups = false;
  int64_t subgroup_min = 0, subgroup_max = 0;
  int64_t storage_buffers = 0;
  int64_t binding_bytes = 0, buffer_bytes = 0;  // where no bound is known: what it was built for
  int64_t workgroup_invocations = 0, workgroup_bytes = 0;
  int64_t storage_alignment = 0, uniform_alignment = 0;  // at most
};
Needs needs_of(const Image& image);

// An Error of kind unsupported, which names the device it was built for and this one, where this
// one lacks what the image needs.
void check_device(const Image& image, const DeviceTraits& device);

}  // namespace rlx::image
