// What the ops on windows of a plane share: pooling, im2col and their gradients.
#pragma once

#include <string>

#include "rlx/ir/graph.h"
#include "rlx/lower/site.h"
#include "rlx/ops/windows.h"

namespace rlx {

// The attributes window, strides, dilations, pads, auto_pad and ceil_mode of a pool.
std::vector<AttrSpec> pool_attrs(std::vector<AttrSpec> more = {});

struct Pool {
  Windows windows;
  Dims window;

  Pool(std::string_view op, const Attrs& attrs, size_t axes);
  // [B, C, places..], or an Error.
  Dims shape(std::string_view op, const TensorType& x) const;
  Slide<Dim> slide_over(const Dims& x, const Dims& y) const;
  // The padding, as attributes have it, with what auto_pad makes of it.
  Dims pads(const Dims& x) const;
};
// The slide of a node over its operand 0.
Slide<int64_t> pool_slide(const ReferenceSite& site);

// One invocation for each element of the result, in planes of `slide`.
Dispatch pool_dispatch(const LowerSite& site, std::string_view kernel, const Slide<Dim>& slide,
                       const Dim& elements);

// The gradient of a sum over windows: each place's dy added to the elements of x under its window.
Value spread_over_windows(Value dy, const Pool& pool, Value x);
// The number of elements of x under each window, [1, 1, places..]; with pads, of x and its pads.
Value window_counts(const Pool& pool, Value x, Value y, bool with_pads);

}  // namespace rlx
