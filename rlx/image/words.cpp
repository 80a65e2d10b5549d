#include "rlx/image/words.h"

#include <cstring>

namespace rlx::image {
namespace {

bool is_in_words(const Image& image, const TensorType& type, ValueId value) {
  return value >= 0 && type.dtype == DType::i64 && image.values[size_t(value)].dtype == DType::u32;
}

}  // namespace

Tensor words_of(const Tensor& integers) {
  Shape shape = integers.shape();
  shape.push_back(2);
  Tensor words(DType::u32, shape);
  if (words.count() > 0)
    std::memcpy(words.mutable_bytes().data(), integers.bytes().data(), integers.bytes().size());
  return words;
}

Tensor integers_of(const Tensor& words) {
  Shape shape = words.shape();
  shape.pop_back();
  Tensor integers(DType::i64, shape);
  take_words(words.bytes(), integers);
  return integers;
}

void take_words(std::span<const std::byte> bytes, Tensor& integers) {
  if (integers.count() > 0)
    std::memcpy(integers.mutable_bytes().data(), bytes.data(), integers.bytes().size());
}

bool is_in_words(const Image& image, const Output& output) {
  return is_in_words(image, output.type, output.value);
}
bool is_in_words(const Image& image, const Input& input) {
  return is_in_words(image, input.type, input.value);
}

}  // namespace rlx::image
