// Tensors as a device keeps them: how much they take, and writing them there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rlx/backend/webgpu/gpu.h"
#include "rlx/base/report.h"
#include "rlx/tensor/tensor.h"

namespace rlx::detail::webgpu {

// What a tensor takes on a device, in whole words, one at least.
uint64_t device_bytes(DType dtype, int64_t count, const DeviceTraits& traits);
inline uint64_t whole_words(int64_t bytes) { return static_cast<uint64_t>((bytes + 3) / 4 * 4); }

// Writes the elements to a buffer, from an offset on, as the device keeps them. An element that
// does not fit is an Error that names `what`. `scratch` is kept for the next time.
void upload(Gpu& gpu, Buffer& buffer, uint64_t offset, const Tensor& tensor,
            const std::string& what, std::vector<std::byte>& scratch, Counters& counters);

}  // namespace rlx::detail::webgpu
