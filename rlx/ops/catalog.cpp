#include "rlx/ops/catalog.h"

#include "rlx/ir/graph.h"
#include "rlx/ops/elementwise.h"

namespace rlx {

// Each is defined in the file of its name or of its theme; those on single elements are rows of
// elementwise_*.cpp.
const OpDef& argmax_op();
const OpDef& argmin_op();
const OpDef& attention_op();
const OpDef& average_pool_op();
const OpDef& batch_norm_op();
const OpDef& cast_op();
const OpDef& causal_mask_op();
const OpDef& concat_op();
const OpDef& conv_integer_op();
const OpDef& conv_op();
const OpDef& conv_transpose_op();
const OpDef& cross_entropy_dx_op();
const OpDef& cross_entropy_op();
const OpDef& cumprod_op();
const OpDef& cumsum_op();
const OpDef& dense_solve_op();
const OpDef& dequantise_op();
const OpDef& det_op();
const OpDef& dropout_op();
const OpDef& expand_op();
const OpDef& eye_like_op();
const OpDef& fake_quantise_op();
const OpDef& float_range_op();
const OpDef& fourier_op();
const OpDef& fused_op();
const OpDef& gated_delta_net_op();
const OpDef& gather_elements_op();
const OpDef& gather_nd_op();
const OpDef& gather_op();
const OpDef& grid_sample_op();
const OpDef& group_norm_op();
const OpDef& half_spectrum_op();
const OpDef& grouped_matmul_op();
const OpDef& gru_op();
const OpDef& if_else_op();
const OpDef& im2col_op();
const OpDef& l1_op();
const OpDef& l2_op();
const OpDef& layer_norm_op();
const OpDef& linear_op();
const OpDef& log_softmax_op();
const OpDef& log_sum_op();
const OpDef& logsumexp_op();
const OpDef& loop_op();
const OpDef& lp_pool_op();
const OpDef& lstm_op();
const OpDef& matmul_integer_op();
const OpDef& matmul_op();
const OpDef& max_pool_gradient_op();
const OpDef& max_pool_op();
const OpDef& mean_op();
const OpDef& mean_square_op();
const OpDef& nearest_op();
const OpDef& non_max_suppression_op();
const OpDef& non_zero_op();
const OpDef& normalise_text_op();
const OpDef& numbers_to_text_op();
const OpDef& one_hot_op();
const OpDef& pad_op();
const OpDef& prod_op();
const OpDef& quantise_op();
const OpDef& quantised_gather_op();
const OpDef& quantised_grouped_matmul_op();
const OpDef& quantised_matmul_op();
const OpDef& random_normal_op();
const OpDef& random_uniform_op();
const OpDef& range_op();
const OpDef& reduce_max_op();
const OpDef& reduce_min_op();
const OpDef& reshape_op();
const OpDef& resize_gradient_op();
const OpDef& resize_op();
const OpDef& reverse_sequence_op();
const OpDef& rms_norm_op();
const OpDef& rnn_op();
const OpDef& roi_align_op();
const OpDef& rope_op();
const OpDef& sample_op();
const OpDef& scatter_elements_op();
const OpDef& scatter_nd_op();
const OpDef& scatter_op();
const OpDef& selective_scan_gradient_op();
const OpDef& selective_scan_op();
const OpDef& shape_of_op();
const OpDef& size_of_op();
const OpDef& slice_op();
const OpDef& softmax_op();
const OpDef& sort_op();
const OpDef& splat_raster_gradient_op();
const OpDef& splat_raster_op();
const OpDef& squeeze_op();
const OpDef& stop_gradient_op();
const OpDef& sum_op();
const OpDef& sum_square_op();
const OpDef& text_to_numbers_op();
const OpDef& tile_op();
const OpDef& top_k_op();
const OpDef& transpose_op();
const OpDef& trilu_op();
const OpDef& unique_op();
const OpDef& unsqueeze_op();
const OpDef& while_loop_op();
const OpDef& window_sum_op();
const OpDef& words_op();
const OpDef& write_slice_op();

namespace {

using Definition = const OpDef& (*)();
constexpr Definition kOps[] = {
    input_op,                     //
    weight_op,                    //
    constant_op,                  //
    state_op,                     //
    argmax_op,                    //
    argmin_op,                    //
    attention_op,                 //
    average_pool_op,              //
    batch_norm_op,                //
    cast_op,                      //
    causal_mask_op,               //
    concat_op,                    //
    conv_integer_op,              //
    conv_op,                      //
    conv_transpose_op,            //
    cross_entropy_dx_op,          //
    cross_entropy_op,             //
    cumprod_op,                   //
    cumsum_op,                    //
    dense_solve_op,               //
    dequantise_op,                //
    det_op,                       //
    dropout_op,                   //
    expand_op,                    //
    eye_like_op,                  //
    fake_quantise_op,             //
    float_range_op,               //
    fourier_op,                   //
    fused_op,                     //
    gated_delta_net_op,           //
    gather_elements_op,           //
    gather_nd_op,                 //
    gather_op,                    //
    grid_sample_op,               //
    group_norm_op,                //
    half_spectrum_op,             //
    grouped_matmul_op,            //
    gru_op,                       //
    if_else_op,                   //
    im2col_op,                    //
    l1_op,                        //
    l2_op,                        //
    layer_norm_op,                //
    linear_op,                    //
    log_softmax_op,               //
    log_sum_op,                   //
    logsumexp_op,                 //
    loop_op,                      //
    lp_pool_op,                   //
    lstm_op,                      //
    matmul_integer_op,            //
    matmul_op,                    //
    max_pool_gradient_op,         //
    max_pool_op,                  //
    mean_op,                      //
    mean_square_op,               //
    nearest_op,                   //
    non_max_suppression_op,       //
    non_zero_op,                  //
    normalise_text_op,            //
    numbers_to_text_op,           //
    one_hot_op,                   //
    pad_op,                       //
    prod_op,                      //
    quantise_op,                  //
    quantised_gather_op,          //
    quantised_grouped_matmul_op,  //
    quantised_matmul_op,          //
    random_normal_op,             //
    random_uniform_op,            //
    range_op,                     //
    reduce_max_op,                //
    reduce_min_op,                //
    reshape_op,                   //
    resize_gradient_op,           //
    resize_op,                    //
    reverse_sequence_op,          //
    rms_norm_op,                  //
    rnn_op,                       //
    roi_align_op,                 //
    rope_op,                      //
    sample_op,                    //
    scatter_elements_op,          //
    scatter_nd_op,                //
    scatter_op,                   //
    selective_scan_gradient_op,   //
    selective_scan_op,            //
    shape_of_op,                  //
    size_of_op,                   //
    slice_op,                     //
    softmax_op,                   //
    sort_op,                      //
    splat_raster_gradient_op,     //
    splat_raster_op,              //
    squeeze_op,                   //
    stop_gradient_op,             //
    sum_op,                       //
    sum_square_op,                //
    text_to_numbers_op,           //
    tile_op,                      //
    top_k_op,                     //
    transpose_op,                 //
    trilu_op,                     //
    unique_op,                    //
    unsqueeze_op,                 //
    while_loop_op,                //
    window_sum_op,                //
    words_op,                     //
    write_slice_op,               //
};

}  // namespace

OpSet catalog() {
  OpSet ops;
  for (const Definition op : kOps) ops.add(static_op(op()));
  for (const OpDef* op : elementwise_ops()) ops.add(static_op(*op));
  return ops;
}

}  // namespace rlx
