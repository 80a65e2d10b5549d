// 64-bit integers in two 32-bit words: a u32 tensor with one more axis, of two, the low word first.
// The bytes are those of the host.
#pragma once

#include <span>

#include "rlx/image/image.h"
#include "rlx/tensor/tensor.h"

namespace rlx::image {

Tensor words_of(const Tensor& integers);
Tensor integers_of(const Tensor& words);
void take_words(std::span<const std::byte> bytes, Tensor& integers);

// Is what leaves as i64 in words on the device?
bool is_in_words(const Image& image, const Output& output);
bool is_in_words(const Image& image, const Input& input);

}  // namespace rlx::image
