#include "rlx/tensor/strings.h"

#include <algorithm>
#include <cstring>

#include "rlx/base/error.h"

namespace rlx {

Tensor tensor_of_strings(Shape shape, const std::vector<std::string>& strings, int64_t length) {
  require(count(shape) == static_cast<int64_t>(strings.size()), "strings of shape ", shape, " are ",
          count(shape), ", here are ", strings.size());
  for (const std::string& string : strings)
    length = std::max(length, static_cast<int64_t>(string.size()));
  shape.push_back(length);
  Tensor tensor(DType::u8, std::move(shape));
  if (tensor.count() == 0) return tensor;
  std::byte* at = tensor.mutable_bytes().data();
  for (const std::string& string : strings) {
    std::memcpy(at, string.data(), string.size());
    at += length;
  }
  return tensor;
}

int64_t string_count(const Tensor& tensor) {
  int64_t strings = 1;
  for (size_t d = 0; d + 1 < tensor.shape().size(); ++d) strings *= tensor.shape()[d];
  return strings;
}

std::string_view string_at(const Tensor& tensor, int64_t i) {
  const auto length = static_cast<size_t>(tensor.shape().back());
  const auto* bytes = reinterpret_cast<const char*>(tensor.data<uint8_t>().data());
  if (length == 0) return {};
  const std::string_view padded(bytes + static_cast<size_t>(i) * length, length);
  return padded.substr(0, padded.find_last_not_of('\0') + 1);
}

}  // namespace rlx
