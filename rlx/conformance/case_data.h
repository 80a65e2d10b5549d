// The operands of a row, filled; the same numbers on every machine and in every run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rlx/conformance/op_cases.h"
#include "rlx/conformance/random.h"

namespace rlx {

// A name for messages: "softmax f32[3, 1000] {axis = -1}: longer than a workgroup".
std::string describe(const OpCase& row);

// By operand; none where it is absent.
std::vector<std::optional<Tensor>> case_data(const OpCase& row);

Tensor random_tensor(DType dtype, const Shape& shape, CaseInput::Fill fill, int64_t limit,
                     bool extremes, Random& random);

// The tensor with its subnormal numbers replaced by zeros, as a device may read them.
Tensor without_subnormals(const Tensor& tensor);

}  // namespace rlx
