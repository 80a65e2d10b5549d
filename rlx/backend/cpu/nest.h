// The loops over the elements of a result, with how far each operand moves in each of them.
#pragma once

#include <algorithm>
#include <array>

#include "rlx/image/call.h"

namespace rlx::detail {

// Extents or strides without memory of their own, so that a run allocates nothing for them.
class Extents {
 public:
  static constexpr size_t kMost = 16;  // calls of more axes are not for these kernels

  Extents(const Shape& shape)
      : size_(std::min(shape.size(), kMost)) {  // NOLINT(google-explicit-constructor)
    std::copy_n(shape.begin(), size_, values_.begin());
  }
  size_t size() const { return size_; }
  void resize(size_t size) { size_ = size; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t& operator[](size_t i) { return values_[i]; }
  int64_t product() const {
    int64_t product = 1;
    for (size_t i = 0; i < size_; ++i) product *= values_[i];
    return product;
  }
  static Extents row_major(const Shape& shape) {
    Extents strides(shape);
    int64_t stride = 1;
    for (size_t d = strides.size_; d-- > 0; stride *= shape[d]) strides[d] = stride;
    return strides;
  }

 private:
  std::array<int64_t, kMost> values_ = {};
  size_t size_;
};

struct Nest {
  static constexpr size_t kMostOperands = 3, kMostLoops = Extents::kMost;
  struct Loop {
    int64_t extent = 1;
    std::array<int64_t, kMostOperands> steps = {};  // in elements
  };
  std::array<Loop, kMostLoops> loops;  // the innermost last; the result lies row after row
  size_t count = 0;

  // Operands broadcast to the result, and may be views. False where there are too many axes.
  bool make(const std::vector<image::Argument>& operands, const Shape& result);

  int64_t rows() const;  // how often the innermost loop runs
  const Loop& inner() const { return loops[count - 1]; }
  // Where the operands are at the beginning of an innermost loop.
  std::array<int64_t, kMostOperands> at(int64_t row) const;
};

}  // namespace rlx::detail
