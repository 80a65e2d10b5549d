#include "rlx/image/storage.h"

#include <cstring>
#include <limits>

#include "rlx/base/error.h"

namespace rlx {

DeviceStorage device_storage(DType dtype, const DeviceTraits& traits) {
  switch (dtype) {
    case DType::f32:
      return {true, "f32", "f32"};
    case DType::f16:
      if (traits.f16) return {true, "f16", "f32", 1, 2};
      return {true, "u32", "f32", 2, 2};
    case DType::bf16:
      return {true, "u32", "f32", 2, 2};
    case DType::f64:
      return {false, "", "", 1, 8};
    case DType::c64:
      return {true, "vec2<f32>", "vec2<f32>", 1, 8};
    case DType::i8:
      return {true, "u32", "i32", 4, 1};
    case DType::i16:
      return {true, "u32", "i32", 2, 2};
    case DType::u8:
      return {true, "u32", "u32", 4, 1};
    case DType::u16:
      return {true, "u32", "u32", 2, 2};
    case DType::i32:
    case DType::i64:
      return {true, "i32", "i32"};
    case DType::u32:
    case DType::u64:
      return {true, "u32", "u32"};
    case DType::boolean:
      return {true, "u32", "bool"};
  }
  return {};
}

Dim bytes_of(DType dtype, const Dim& count, const DeviceTraits& traits) {
  if (traits.on_host()) return count * Dim(bytes_of(dtype));
  const int64_t bytes = device_storage(dtype, traits).bytes;
  return bytes >= 4 ? count * Dim(bytes) : align_up(count * Dim(bytes), 4);
}

bool is_packed(DType dtype, const DeviceTraits& traits) {
  return !traits.on_host() && device_storage(dtype, traits).elements_per_word > 1;
}

DType unpacked(DType dtype) {
  if (is_float(dtype)) return DType::f32;
  return is_signed_integer(dtype) ? DType::i32 : DType::u32;
}

bool same_on_device(DType dtype, const DeviceTraits& traits) {
  return traits.on_host() || (dtype != DType::i64 && dtype != DType::u64 &&
                              dtype != DType::boolean && dtype != DType::f64);
}

namespace {

template <class From, class To>
void narrow(const Tensor& tensor, std::span<std::byte> bytes, const std::string& what) {
  const Tensor aligned = tensor.aligned();
  const auto from = aligned.data<From>();
  To* to = reinterpret_cast<To*>(bytes.data());
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] < From{std::numeric_limits<To>::min()} ||
        from[i] > From{std::numeric_limits<To>::max()})
      fail(ErrorKind::limit, what, ": element ", i, " is ", from[i], ", a device holds ",
           tensor.dtype(), " in 32 bits");
    to[i] = static_cast<To>(from[i]);
  }
}

template <class From, class To>
void widen(std::span<const std::byte> bytes, Tensor& tensor) {
  const From* from = reinterpret_cast<const From*>(bytes.data());
  const auto to = tensor.mutable_data<To>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace

void to_device(const Tensor& tensor, std::span<std::byte> bytes, const std::string& what) {
  switch (tensor.dtype()) {
    case DType::i64:
      return narrow<int64_t, int32_t>(tensor, bytes, what);
    case DType::u64:
      return narrow<uint64_t, uint32_t>(tensor, bytes, what);
    case DType::boolean: {
      const auto from = tensor.data<uint8_t>();
      uint32_t* to = reinterpret_cast<uint32_t*>(bytes.data());
      for (size_t i = 0; i < from.size(); ++i) to[i] = from[i] != 0;
      return;
    }
    default:
      if (!tensor.bytes().empty())
        std::memcpy(bytes.data(), tensor.bytes().data(), tensor.bytes().size());
  }
}

void from_device(std::span<const std::byte> bytes, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::i64:
      return widen<int32_t, int64_t>(bytes, tensor);
    case DType::u64:
      return widen<uint32_t, uint64_t>(bytes, tensor);
    case DType::boolean:
      return widen<uint32_t, uint8_t>(bytes, tensor);
    default:
      if (tensor.count() > 0)
        std::memcpy(tensor.mutable_bytes().data(), bytes.data(), tensor.bytes().size());
  }
}

}  // namespace rlx
