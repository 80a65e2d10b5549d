// The weights and states of an image by the names that their users know.
#pragma once

#include <string>

#include "rlx/image/image.h"

namespace rlx::detail {

// The value of a name, or an Error that says there is none.
const image::Weight& weight_of(const image::Image& image, const std::string& name);
const image::State& state_of(const image::Image& image, const std::string& name);
// What a state starts as, in memory of its own.
Tensor initial_state(const image::Image& image, const image::State& state);
void check_type(const char* kind, const std::string& name, const TensorType& type,
                const Tensor& tensor);

}  // namespace rlx::detail
