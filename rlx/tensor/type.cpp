#include "rlx/tensor/type.h"

#include <algorithm>

#include "rlx/base/error.h"

namespace rlx {

int64_t count(const Shape& shape) {
  Dim product = 1;
  for (const int64_t extent : shape) product = product * Dim(extent);
  return product.number();
}

Dim count(const Dims& shape) {
  Dim product = 1;
  for (const Dim& dim : shape) product = product * dim;
  return product;
}

Shape bound(const Dims& shape, const SymbolValues& symbols) {
  Shape numbers;
  numbers.reserve(shape.size());
  for (const Dim& dim : shape) {
    numbers.push_back(dim.value(symbols));
    if (numbers.back() < 0)
      fail(ErrorKind::invalid_input, "dimension ", dim, " of ", shape, " is ", numbers.back(),
           " under this binding");
  }
  return numbers;
}

bool is_bound(const Dim& dim, const SymbolValues& symbols) {
  const auto names = dim.symbols();
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return symbols.count(name) != 0; });
}
bool is_bound(const Dims& shape, const SymbolValues& symbols) {
  return std::all_of(shape.begin(), shape.end(),
                     [&](const Dim& dim) { return is_bound(dim, symbols); });
}

bool is_concrete(const Dims& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_number(); });
}

Shape concrete(const Dims& shape) {
  Shape numbers;
  for (const Dim& dim : shape) numbers.push_back(dim.number());
  return numbers;
}

namespace {

template <class Extents>
Extents row_major(const Extents& shape) {
  Extents strides(shape.size());
  typename Extents::value_type stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * shape[i];
  }
  return strides;
}

}  // namespace

Dims strides_of(const Dims& shape) { return row_major(shape); }
Shape strides_of(const Shape& shape) { return row_major(shape); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << '[' << joined(shape) << ']';
}
std::ostream& operator<<(std::ostream& out, const Dims& shape) {
  return out << '[' << joined(shape) << ']';
}
std::ostream& operator<<(std::ostream& out, const TensorType& type) {
  return out << type.dtype << type.shape;
}

}  // namespace rlx
