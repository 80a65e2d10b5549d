#include "rlx/ops/catalog.h"

#include "rlx/ir/graph.h"
#include "rlx/ops/elementwise.h"

namespace rlx {

// Each is defined in the file of its name; those on single elements are rows of elementwise.cpp.
#define RLX_OPS(X)                                                                              \
  X(attention)                                                                                  \
  X(cast) X(concat) X(conv2d) X(expand) X(gather) X(if_else) X(layer_norm) X(linear) X(loop)    \
      X(matmul) X(mean) X(quantised_matmul) X(reduce_max) X(reduce_min) X(reshape) X(rms_norm)  \
          X(rope) X(scatter) X(shape_of) X(slice) X(softmax) X(sort) X(squeeze) X(sum) X(top_k) \
              X(transpose) X(unsqueeze) X(write_slice)

#define RLX_DECLARE(name) const OpDef& name##_op();
RLX_OPS(RLX_DECLARE)
#undef RLX_DECLARE

OpSet catalog() {
  OpSet ops;
  for (const OpDef* source : {&input_op(), &weight_op(), &constant_op(), &state_op()})
    ops.add(static_op(*source));
#define RLX_ADD(name) ops.add(static_op(name##_op()));
  RLX_OPS(RLX_ADD)
#undef RLX_ADD
  for (const OpDef* op : elementwise_ops()) ops.add(static_op(*op));
  return ops;
}

}  // namespace rlx
