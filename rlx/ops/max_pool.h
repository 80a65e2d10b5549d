// How max_pool counts the elements it has chosen.
#pragma once

#include "rlx/ir/graph.h"
#include "rlx/ops/windows.h"

namespace rlx {

const OpDef& max_pool_gradient_op();

// Of an index within a plane, by axis: rows first, or columns with storage_order 1.
Dims max_pool_index_strides(const Attrs& attrs, const Slide<Dim>& slide);
// The index of an element that is counted by rows.
int64_t max_pool_index(bool by_columns, const Slide<int64_t>& slide, int64_t element);

}  // namespace rlx
