// NumPy's .npy format: one array, after a header that is a Python dict.
#pragma once

#include <span>
#include <string>

#include "rlx/tensor/tensor.h"

namespace rlx {

// The tensor in memory of its own, in row-major order and this machine's byte order. A wrong file
// is an Error that names the byte.
Tensor load_npy(const std::string& path);
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source);

void save_npy(const std::string& path, const Tensor& tensor);

}  // namespace rlx
