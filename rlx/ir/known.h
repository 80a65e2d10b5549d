// What is known of a value before anything runs.
#pragma once

#include <optional>

#include "rlx/ir/graph.h"

namespace rlx {

// Tensors of at most this many elements are looked at element by element: shape arithmetic is never
// larger. What is larger and made of constants is computed once, when a program is prepared.
constexpr int64_t kMostKnownElements = 1024;

// An integer or boolean tensor that is small enough, by its elements.
bool has_host_elements(const TensorType& type);
std::optional<HostValue> host_value_of(const Tensor& tensor);

// The tensor that a value is in every run: a constant, or what the references make of constants.
// None where a weight, a state or an input has a say, where it would have too many elements, and
// where the op has a body. Remembered in the graph, so not for two threads at once.
std::optional<Tensor> known_tensor(Value value);

// Finds the elements of an integer operand as numbers, where known_tensor tells them.
void learn_elements(Value value);

// Gives the elements of a small integer tensor symbols of their own, which a run will bind. A
// larger one, or one of an extent that is not known, has none.
void make_symbols(Value value);

}  // namespace rlx
