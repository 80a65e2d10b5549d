// Numbers as text and back, to the same bits on every platform and in every locale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rlx/tensor/dtype.h"

namespace rlx {

// All of `text` as a number: a decimal, inf, -inf, nan, or nan:0x... with the bits. None when it is
// not a number, or not one that the type has.
std::optional<double> read_double(std::string_view text);
std::optional<int64_t> read_integer(std::string_view text);

// One element of a tensor at `at`. A c64 is two f32, which the caller separates.
std::string print_element(DType dtype, const std::byte* at);
bool read_element(DType dtype, std::string_view text, std::byte* at);  // false: as above

}  // namespace rlx
