// Pooling: one result for each window.
#pragma once

#include <string>

#include "rlx/ir/value.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

struct PoolOptions {
  Ints strides = {}, dilations = {}, pads = {};
  std::string auto_pad = "";
  bool ceil_mode = false;          // a last window may lie over the edge, but not begin beyond it
  bool count_include_pad = false;  // average_pool: padding counts as zeros
  int64_t storage_order = 0;       // max_pool: indices within a plane count rows, or columns (1)
};
// Over windows of x [B, C, spatial..]. The indices of max_pool count through the whole of x.
TopK max_pool(Value x, const Ints& window, const PoolOptions& options = {});
Value average_pool(Value x, const Ints& window, const PoolOptions& options = {});
Value lp_pool(Value x, const Ints& window, double p = 2, const PoolOptions& options = {});
Value global_max_pool(Value x);
Value global_average_pool(Value x);
Value global_lp_pool(Value x, double p = 2);
// x at its places in a tensor of `shape` that is zero elsewhere: what max_pool left out is lost.
Value max_unpool(Value x, Value indices, const Dims& shape);
// The elements under each window as columns, [B, C * taps, places].
Value im2col(Value x, const Ints& window, const PoolOptions& options = {});

}  // namespace rlx
