// What the norms over rows share: rows of trailing axes or of groups of channels, and the operands
// that scale them.
#pragma once

#include <functional>
#include <string>

#include "rlx/ir/graph.h"
#include "rlx/ops/row_kernel.h"

namespace rlx {

// x is a float tensor, normalised from `axis` on; gamma and beta, where present, have those dims.
Types infer_norm(const InferSite& site);

// x seen as [row_count, row_length].
struct NormRows {
  Dim count = 1, length = 1;
  NormRows(const Dims& shape, size_t axis);
  NormRows(const Dim& rows, const Dim& row_length) : count(rows), length(row_length) {}
};

// A dispatch of the kernel with fn scale(row, i) and fn shift(row, i), which load gamma and beta,
// where they are there, at `place`, an expression over row and i.
Dispatch norm_dispatch(const LowerSite& site, std::string_view file, const NormRows& rows,
                       const std::string& place);
// The same for rows of trailing axes.
Dispatch norm_dispatch(const LowerSite& site, std::string_view file);

// (x - mean) / sqrt(variance + epsilon) * gamma + beta of each row; `place` says which element of
// gamma and beta belongs to element i of a row.
void norm_reference(const ReferenceSite& site, int64_t rows, int64_t length,
                    const std::function<int64_t(int64_t row, int64_t i)>& place);

// With n = (x - mean) * inverse and g = dy * gamma: dx = inverse * (g - mean g - n * mean(g * n)).
struct NormGradient {
  Value dx, normal;
};
NormGradient norm_gradient(Value x, Value g, const Ints& axes, double epsilon);

// The axes from `axis` on, as reductions take them.
Ints trailing_axes(const GradientSite& site);

}  // namespace rlx
