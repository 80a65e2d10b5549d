// How elements are kept on a device: WebGPU has no 8- and 16-bit scalars but f16, and no 64-bit
// ones.
#pragma once

#include <string>

#include "rlx/base/device_traits.h"
#include "rlx/tensor/tensor.h"

namespace rlx {

struct DeviceStorage {
  bool exists = true;             // false: f64, which a device cannot hold
  std::string element;            // of the storage array: f32, f16, u32, i32, vec2<f32>
  std::string compute;            // what loads give and stores take: f32, i32, u32, bool, vec2<f32>
  int64_t elements_per_word = 1;  // more than 1: packed in a u32
  int64_t bytes = 4;              // of one element; a packed tensor is rounded up to whole words
};

DeviceStorage device_storage(DType dtype, const DeviceTraits& traits);

// The bytes a tensor of this type takes: on a device whole words, on the host as they are.
Dim bytes_of(DType dtype, const Dim& count, const DeviceTraits& traits);

// The dtype a kernel can store element by element when `dtype` is packed: f32, i32 or u32.
DType unpacked(DType dtype);
bool is_packed(DType dtype, const DeviceTraits& traits);

// Converts between the host's bytes and the device's. An i64 that does not fit 32 bits is an Error
// that names `what`. True when the bytes are the same and nothing was converted.
bool same_on_device(DType dtype, const DeviceTraits& traits);
void to_device(const Tensor& tensor, std::span<std::byte> bytes, const std::string& what);
void from_device(std::span<const std::byte> bytes, Tensor& tensor);

}  // namespace rlx
