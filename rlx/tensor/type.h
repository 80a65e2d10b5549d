// Shapes and types: concrete for tensors, symbolic for values of a graph.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "rlx/tensor/dim.h"
#include "rlx/tensor/dtype.h"

namespace rlx {

// Types of our own, not aliases: error messages can then print them.
struct Shape : std::vector<int64_t> {
  using vector::vector;
};
struct Dims : std::vector<Dim> {
  using vector::vector;
  Dims(const Shape& shape)
      : vector(shape.begin(), shape.end()) {}  // NOLINT(google-explicit-constructor)
};

struct TensorType {
  DType dtype = DType::f32;
  Dims shape;

  bool operator==(const TensorType&) const = default;
};

using Types = std::vector<TensorType>;

// Lists, as ops and attributes take them.
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Bools = std::vector<bool>;
using Strings = std::vector<std::string>;
using DTypes = std::vector<DType>;
using Shapes = std::vector<Dims>;

inline TensorType f32(Dims shape) { return {DType::f32, std::move(shape)}; }
inline TensorType f16(Dims shape) { return {DType::f16, std::move(shape)}; }
inline TensorType i32(Dims shape) { return {DType::i32, std::move(shape)}; }
inline TensorType i64(Dims shape) { return {DType::i64, std::move(shape)}; }
inline TensorType boolean(Dims shape) { return {DType::boolean, std::move(shape)}; }

inline int64_t rank(const TensorType& type) { return static_cast<int64_t>(type.shape.size()); }
int64_t count(const Shape& shape);
Dim count(const Dims& shape);

// The shape under a binding; a negative extent is an Error.
Shape bound(const Dims& shape, const SymbolValues& symbols);
// Does the binding have a value for every symbol?
bool is_bound(const Dim& dim, const SymbolValues& symbols);
bool is_bound(const Dims& shape, const SymbolValues& symbols);
bool is_concrete(const Dims& shape);
Shape concrete(const Dims& shape);  // only when it is

// Row-major strides.
Dims strides_of(const Dims& shape);
Shape strides_of(const Shape& shape);

std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Dims& shape);
std::ostream& operator<<(std::ostream& out, const TensorType& type);

}  // namespace rlx
