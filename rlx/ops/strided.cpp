#include "rlx/ops/strided.h"

#include "rlx/codegen/shards.h"

namespace rlx {

Operand::Window window_of(const Dim& first, const Dims& extents, const Dims& strides) {
  Dim last = 0;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (!runs_backwards(strides[d])) last = last + (extents[d] - 1) * strides[d];
  }
  return {first, last + 1};
}

Operand flat(Operand operand) {
  const Operand::Window all =
      window_of(operand.layout.offset, operand.shape, operand.layout.strides);
  operand.shape = Dims{max(all.first + all.count, 0)};
  operand.layout = Layout::row_major(operand.shape);
  return operand;
}

}  // namespace rlx
