// What layer_norm and rms_norm share: rows of trailing axes, and the operands that scale them.
#pragma once

#include <string>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"

namespace rlx {

// x is a float tensor, normalised from `axis` on; gamma and beta, where present, have those dims.
Types infer_norm(const InferSite& site);

// x seen as [row_count, row_length].
struct NormRows {
  Dim count = 1, length = 1;
  NormRows(const Dims& shape, size_t axis);
};

// A dispatch of the kernel, with fn scale(i) and fn shift(i) of the operands that are there.
Dispatch norm_dispatch(const LowerSite& site, std::string_view file);

// The axes from `axis` on, as reductions take them.
Ints trailing_axes(const GradientSite& site);

}  // namespace rlx
