#include "rlx/backend/cpu/nest.h"

#include "rlx/backend/cpu/engine.h"

namespace rlx::detail {

bool Nest::make(const std::vector<image::Argument>& operands, const Shape& result) {
  if (result.size() > kMostLoops || operands.size() > kMostOperands) return false;
  std::array<std::array<int64_t, kMostOperands>, kMostLoops> steps = {};
  for (size_t k = 0; k < operands.size(); ++k) {
    const image::Argument& x = operands[k];
    if (x.shape.size() > result.size()) return false;
    const Steps strides(x);
    const size_t front = result.size() - x.shape.size();
    for (size_t d = 0; d < x.shape.size(); ++d) {
      if (x.shape[d] != 1 && x.shape[d] != result[d + front]) return false;
      if (x.shape[d] != 1) steps[d + front][k] = strides[d];
    }
  }
  count = 0;
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] == 1) continue;
    // Neighbours through which all operands run on become one loop.
    bool runs_on = count > 0;
    for (size_t k = 0; k < kMostOperands && runs_on; ++k)
      runs_on = loops[count - 1].steps[k] == steps[d][k] * result[d];
    if (runs_on)
      loops[count - 1] = {loops[count - 1].extent * result[d], steps[d]};
    else
      loops[count++] = {result[d], steps[d]};
  }
  if (count == 0) loops[count++] = {};
  return true;
}

int64_t Nest::rows() const {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < count; ++i) rows *= loops[i].extent;
  return rows;
}

std::array<int64_t, Nest::kMostOperands> Nest::at(int64_t row) const {
  std::array<int64_t, kMostOperands> offsets = {};
  for (size_t i = count - 1; i-- > 0; row /= loops[i].extent)
    for (size_t k = 0; k < kMostOperands; ++k)
      offsets[k] += row % loops[i].extent * loops[i].steps[k];
  return offsets;
}

}  // namespace rlx::detail
