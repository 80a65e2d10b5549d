// Elements of a tensor as complex numbers.
#pragma once

#include <complex>
#include <cstring>

#include "rlx/tensor/tensor.h"

namespace rlx::cli {

// Element i; of all dtypes but c64 its imaginary part is 0.
inline std::complex<double> complex_at(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() != DType::c64) return tensor.at(i);
  float parts[2];
  std::memcpy(parts, tensor.bytes().data() + static_cast<size_t>(i) * sizeof parts, sizeof parts);
  return {parts[0], parts[1]};
}

}  // namespace rlx::cli
