// A copy of elements between two layouts of one shape, made ready: runs where elements lie side by
// side on both sides, blocks that fit registers and cache where the layouts are transposed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rlx/vector/range.h"

namespace rlx::vector {

class Copy {
 public:
  struct Axis {
    int64_t extent = 1, from = 0, to = 0;  // steps in elements
  };
  static constexpr size_t kMostAxes = 16;

  Copy() = default;
  // In any order; elements of 1, 2, 4 or 8 bytes. False where there are too many axes.
  bool make(const Axis* axes, size_t count, int64_t width);

  // The copy in parts, which may be done at the same time.
  int64_t units() const { return units_; }
  int64_t unit_elements() const { return unit_elements_; }
  void run(const void* from, void* to, Range units) const;

 private:
  enum class Way { runs, transposed, strided };
  template <class T>
  void run_as(const T* from, T* to, Range units) const;

  std::array<Axis, kMostAxes> outer_;  // the outermost first
  size_t count_ = 0;
  Axis across_, inner_;  // the two innermost; of runs and strides the second only
  Way way_ = Way::runs;
  int64_t width_ = 4, units_ = 0, unit_elements_ = 1;
};

}  // namespace rlx::vector
