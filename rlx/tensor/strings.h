// Strings as a tensor of bytes: u8[..., length], each string padded with zeros to the length of the
// longest. NumPy's dtype S lies in memory the same way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rlx/tensor/tensor.h"

namespace rlx {

// u8[shape..., length], where no string is longer than `length` or that is as long as the longest.
Tensor tensor_of_strings(Shape shape, const std::vector<std::string>& strings, int64_t length = 0);
int64_t string_count(const Tensor& tensor);
// String i without its padding: a view of the tensor.
std::string_view string_at(const Tensor& tensor, int64_t i);

}  // namespace rlx
