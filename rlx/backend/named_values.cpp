#include "rlx/backend/named_values.h"

namespace rlx::detail {

using image::Image;

const image::Weight& weight_of(const Image& image, const std::string& name) {
  for (const image::Weight& weight : image.weights)
    if (weight.name == name) return weight;
  fail(ErrorKind::invalid_input, "there is no weight '", name, "'");
}

const image::State& state_of(const Image& image, const std::string& name) {
  for (const image::State& state : image.states)
    if (state.name == name) return state;
  fail(ErrorKind::invalid_input, "there is no state '", name, "'");
}

Tensor initial_state(const Image& image, const image::State& state) {
  const int32_t source = state.value < 0 ? -1 : image.values[size_t(state.value)].source;
  return source < 0 ? Tensor(state.type.dtype, concrete(state.type.shape))
                    : image.sources[size_t(source)].copy();
}

void check_type(const char* kind, const std::string& name, const TensorType& type,
                const Tensor& tensor) {
  if (tensor.type() != type)
    fail(ErrorKind::invalid_input, kind, " '", name, "' is ", type, ", got ", tensor.type());
}

}  // namespace rlx::detail
