#include "rlx/ops/catalog.h"

#include "rlx/ir/graph.h"
#include "rlx/ops/elementwise.h"

namespace rlx {

// Each is defined in the file of its name; those on single elements are rows of elementwise.cpp.
const OpDef& attention_op();
const OpDef& cast_op();
const OpDef& causal_mask_op();
const OpDef& concat_op();
const OpDef& conv2d_op();
const OpDef& expand_op();
const OpDef& gather_op();
const OpDef& gru_op();
const OpDef& if_else_op();
const OpDef& layer_norm_op();
const OpDef& linear_op();
const OpDef& loop_op();
const OpDef& lstm_op();
const OpDef& matmul_op();
const OpDef& mean_op();
const OpDef& quantised_matmul_op();
const OpDef& reduce_max_op();
const OpDef& reduce_min_op();
const OpDef& reshape_op();
const OpDef& rms_norm_op();
const OpDef& rnn_op();
const OpDef& rope_op();
const OpDef& scatter_op();
const OpDef& shape_of_op();
const OpDef& slice_op();
const OpDef& softmax_op();
const OpDef& sort_op();
const OpDef& squeeze_op();
const OpDef& sum_op();
const OpDef& top_k_op();
const OpDef& transpose_op();
const OpDef& unsqueeze_op();
const OpDef& while_loop_op();
const OpDef& write_slice_op();

namespace {

using Definition = const OpDef& (*)();
constexpr Definition kOps[] = {
    input_op,             //
    weight_op,            //
    constant_op,          //
    state_op,             //
    attention_op,         //
    cast_op,              //
    causal_mask_op,       //
    concat_op,            //
    conv2d_op,            //
    expand_op,            //
    gather_op,            //
    gru_op,               //
    if_else_op,           //
    layer_norm_op,        //
    linear_op,            //
    loop_op,              //
    lstm_op,              //
    matmul_op,            //
    mean_op,              //
    quantised_matmul_op,  //
    reduce_max_op,        //
    reduce_min_op,        //
    reshape_op,           //
    rms_norm_op,          //
    rnn_op,               //
    rope_op,              //
    scatter_op,           //
    shape_of_op,          //
    slice_op,             //
    softmax_op,           //
    sort_op,              //
    squeeze_op,           //
    sum_op,               //
    top_k_op,             //
    transpose_op,         //
    unsqueeze_op,         //
    while_loop_op,        //
    write_slice_op,       //
};

}  // namespace

OpSet catalog() {
  OpSet ops;
  for (const Definition op : kOps) ops.add(static_op(op()));
  for (const OpDef* op : elementwise_ops()) ops.add(static_op(*op));
  return ops;
}

}  // namespace rlx
