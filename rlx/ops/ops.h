// The ops, as functions on values. Each is defined in rlx/ops/<name>.cpp.
#pragma once

#include <optional>
#include <string>

#include "rlx/ir/graph.h"

namespace rlx {

// Elementwise, one element at a time: rows of the table in elementwise.cpp. Operands broadcast.
Value neg(Value x);
Value abs(Value x);
Value sign(Value x);
Value exp(Value x);
Value log(Value x);
Value log1p(Value x);
Value expm1(Value x);
Value sqrt(Value x);
Value rsqrt(Value x);
Value reciprocal(Value x);
Value sin(Value x);
Value cos(Value x);
Value tanh(Value x);
Value erf(Value x);
Value floor(Value x);
Value ceil(Value x);
Value round(Value x);  // half to even
Value relu(Value x);
Value leaky_relu(Value x, double alpha = 0.01);
Value elu(Value x, double alpha = 1.0);
Value sigmoid(Value x);
Value silu(Value x);
Value softplus(Value x);
Value gelu(Value x);       // exact, by erf
Value gelu_tanh(Value x);  // its tanh approximation
Value logical_not(Value x);
Value is_nan(Value x);
Value clip(Value x, double min, double max);
Value operator+(Value x, Value y);
Value operator-(Value x, Value y);
Value operator*(Value x, Value y);
Value operator/(Value x, Value y);
Value operator-(Value x);
Value maximum(Value x, Value y);
Value minimum(Value x, Value y);
Value pow(Value x, Value y);
Value equal(Value x, Value y);
Value not_equal(Value x, Value y);
Value less(Value x, Value y);
Value less_equal(Value x, Value y);
Value greater(Value x, Value y);
Value greater_equal(Value x, Value y);
Value logical_and(Value x, Value y);
Value logical_or(Value x, Value y);
Value logical_xor(Value x, Value y);
Value where(Value condition, Value x, Value y);
Value cast(Value x, DType dtype);
// A constant of x's graph and dtype, to write expressions with: scalar(x, 2) * x.
Value scalar(Value like, double value);

// Reductions over any axes; none given means all. Kept axes have length 1.
Value sum(Value x, const Ints& axes = {}, bool keep = false);
Value mean(Value x, const Ints& axes = {}, bool keep = false);
Value reduce_max(Value x, const Ints& axes = {}, bool keep = false);
Value reduce_min(Value x, const Ints& axes = {}, bool keep = false);
Value softmax(Value x, int64_t axis = -1);
// Over the trailing axes from `axis` on; gamma and beta may be absent.
Value layer_norm(Value x, Value gamma, Value beta, int64_t axis = -1, double epsilon = 1e-5);
Value rms_norm(Value x, Value gamma, int64_t axis = -1, double epsilon = 1e-6);

// NumPy's rules in full; either side transposed in its last two dims.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);
// activation(x . w + bias); w is [K, N], or [N, K] when transpose_w. An empty activation is none.
Value linear(Value x, Value w, Value bias = {}, const std::string& activation = "",
             bool transpose_w = false);
// x[.., K] times w[N, K] kept as i8 in blocks along K, each block with a scale: scales[N, K /
// block].
Value quantised_matmul(Value x, Value w, Value scales, int64_t block);
// Sums over the contracting dims of both, for each element of the batch dims. The result has the
// batch dims, then the other dims of a, then those of b.
struct DotDims {
  Ints a_contracting, b_contracting, a_batch = {}, b_batch = {};
};
Value dot_general(Value a, Value b, const DotDims& dims);
// NumPy's: "bij,bjk->bik", "ij,jk" (the result has the letters that occur once, in order), "ii->i",
// "...ij,...jk->...ik".
Value einsum(const std::string& equation, const Values& operands);
// x . w + bias, its columns parted into three results of the widths given.
struct Qkv {
  Value q, k, v;
};
Qkv qkv_linear(Value x, Value w, Value bias, int64_t q_width, int64_t k_width, int64_t v_width,
               bool transpose_w = false);
// x . w + scale * (x . a) . b
Value lora_matmul(Value x, Value w, Value a, Value b, double scale = 1);
// x [M, K], w [E, K, N], expert [M]: row i is x[i] . w[expert[i]].
Value grouped_matmul(Value x, Value w, Value expert);
// The x of a . x = b, a [.., N, N] and b [.., N] or [.., N, K].
Value dense_solve(Value a, Value b);

// Bytes times bytes to i32, each less its zero point: one for all, or one per row of a (column of
// b).
Value matmul_integer(Value a, Value b, Value a_zero = {}, Value b_zero = {});
// Bytes that stand for (value - zero) * scale; scale and zero one for all, or one per row of a
// matrix, per column of a second one, per output channel of conv's weights.
struct QuantisedOperand {
  Value values, scale, zero;
};
Value qlinear_matmul(const QuantisedOperand& a, const QuantisedOperand& b, Value y_scale,
                     Value y_zero);
// Sums of a product as bytes again: round(sums * scale) + zero, clamped to zero's dtype.
Value requantise(Value sums, Value scale, Value zero);

struct AttentionOptions {
  int64_t heads = 1;               // of q
  int64_t kv_heads = 0;            // of k and v; 0: as many as q
  bool causal = false;             // query i sees keys up to i + (S_k - S_q)
  double scale = 0;                // 0: 1 / sqrt(D)
  double softcap = 0;              // 0: none
  std::string empty_row = "zero";  // of a row with every key masked: zero, nan
};
// q [B, H, S_q, D], k [B, H_kv, S_k, D], v [B, H_kv, S_k, D_v]; `bias`, added to the scores,
// broadcasts to [B, H, S_q, S_k], and may be a bool mask (true: keep).
Value attention(Value q, Value k, Value v, Value bias = {}, const AttentionOptions& options = {});
// x [.., S, D], cos and sin [S, n_rot / 2]; pairs are (d, d + n_rot/2), or neighbours if
// interleaved.
Value rope(Value x, Value cos, Value sin, bool interleaved = false);

Value gather(Value x, Value indices, int64_t axis = 0);
// x with rows along `axis` at `indices` replaced by (or with `reduction` add, mul, max, min)
// updates.
Value scatter(Value x, Value indices, Value updates, int64_t axis = 0,
              const std::string& reduction = "none");
Value concat(const Values& parts, int64_t axis);
// starts, ends and steps per axis, NumPy's rules; `axes` empty: all in order.
Value slice(Value x, const Ints& starts, const Ints& ends, const Ints& axes = {},
            const Ints& steps = {});
// The same with ends known only at run time.
Value slice(Value x, Value starts, Value ends, const Ints& axes = {}, const Ints& steps = {});
// x with a block of it, from `starts` on, replaced by `update`; in place where x is not read again.
Value write_slice(Value x, Value update, Value starts);
Value reshape(Value x, const Dims& shape);  // one dim may be -1
Value reshape(Value x, Value shape);        // an integer tensor: a constant, or known at run time
Value transpose(Value x, const Ints& order);
Value expand(Value x, const Dims& shape);
Value squeeze(Value x, const Ints& axes);
Value unsqueeze(Value x, const Ints& axes);
Value shape_of(Value x);  // as i64[rank]

struct TopK {
  Value values, indices;
};
TopK top_k(Value x, int64_t k, int64_t axis = -1, bool largest = true);  // ties to the lower index
TopK top_k(Value x, Value k, int64_t axis = -1, bool largest = true);    // k known at run time
TopK sort(Value x, int64_t axis = -1, bool descending = false);  // stable; and where each was

// Windows over 1, 2 or 3 spatial dims. Empty lists are ones, or no pads; pads are before each dim,
// then after each: top, left, bottom, right. auto_pad is same_upper, same_lower or valid.
struct ConvOptions {
  Ints strides = {}, dilations = {}, pads = {};
  int64_t groups = 1;
  std::string activation = "";
  std::string auto_pad = "";
};
// x [B, C, spatial..], w [O, C / groups, window..], bias [O].
Value conv(Value x, Value w, Value bias = {}, const ConvOptions& options = {});
Value conv2d(Value x, Value w, Value bias = {}, const ConvOptions& options = {});
// Bytes times bytes to i32, less their zero points: one of x, one of w or one per output channel.
Value conv_integer(Value x, Value w, Value x_zero = {}, Value w_zero = {},
                   const ConvOptions& options = {});
// bias is i32, in units of both scales.
Value qlinear_conv(const QuantisedOperand& x, const QuantisedOperand& w, Value y_scale,
                   Value y_zero, Value bias = {}, const ConvOptions& options = {});
struct ConvTransposeOptions {
  Ints strides = {}, dilations = {}, pads = {};
  Ints output_padding = {};  // at the end of each dim
  Ints output_shape = {};    // its spatial dims; the pads then follow
  int64_t groups = 1;
  std::string activation = "";
  std::string auto_pad = "";
};
// x [B, C, spatial..], w [C, O / groups, window..], bias [O].
Value conv_transpose(Value x, Value w, Value bias = {}, const ConvTransposeOptions& options = {});
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

// The outputs of `then` or `otherwise`, bodies with the same inputs and output types.
Values if_else(Value condition, const Values& inputs, Graph then, Graph otherwise);
// Runs `body` count times. Its inputs are the iteration (i64[]) and the carried values, its outputs
// the carried values of the next iteration.
Values loop(Value count, const Values& carried, Graph body);

// The activations that linear and conv take by name.
Value activate(Value x, const std::string& activation);

}  // namespace rlx
