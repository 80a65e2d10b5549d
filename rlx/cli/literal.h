// Tensors written on the command line: 3, [1, 2, 3], [[1, 2], [3, 4]], [true, false].
#pragma once

#include <string>

#include "rlx/tensor/tensor.h"

namespace rlx::cli {

// Whether the text starts like one.
bool is_literal(const std::string& source);

// A tensor of the literal's own shape; an Error (invalid_input) says what is wrong where.
Tensor parse_literal(const std::string& source, DType dtype);

}  // namespace rlx::cli
