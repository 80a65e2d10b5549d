// The ops, as functions on values. Each is defined in rlx/ops/<name>.cpp.
#pragma once

#include <optional>
#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// Elementwise, one element at a time: rows of the tables in elementwise_*.cpp. Operands broadcast.
// Gradients where there is no slope are those PyTorch has: relu, abs, sign and hard_sigmoid have 0
// at their kinks, hard_swish 0 at -3 and 1 at 3, clip all of it at both ends, leaky_relu, prelu and
// elu at 0 that of the negative side; maximum and minimum give half to each of two equals. floor,
// ceil and sign have 0 everywhere, round has not.
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
Value erf(Value x);
Value floor(Value x);
Value ceil(Value x);
// Half to even. Its gradient is straight through, that of x; round(stop_gradient(x)) has the exact
// one, 0.
Value round(Value x);
Value clip(Value x, double min, double max);
Value sin(Value x);
Value cos(Value x);
Value tan(Value x);
Value asin(Value x);
Value acos(Value x);
Value atan(Value x);
Value atan2(Value y, Value x);
Value sinh(Value x);
Value cosh(Value x);
Value asinh(Value x);
Value acosh(Value x);
Value atanh(Value x);
Value relu(Value x);
Value leaky_relu(Value x, double alpha = 0.01);
Value prelu(Value x, Value slope);
Value elu(Value x, double alpha = 1.0);
Value selu(Value x, double alpha = 1.6732632423543772, double gamma = 1.0507009873554805);
Value celu(Value x, double alpha = 1.0);
Value sigmoid(Value x);
Value hard_sigmoid(Value x, double alpha = 0.2, double beta = 0.5);
Value silu(Value x);
Value hard_swish(Value x);
Value mish(Value x);
Value tanh(Value x);
Value softplus(Value x);
Value softsign(Value x);
Value gelu(Value x);       // exact, by erf
Value gelu_tanh(Value x);  // its tanh approximation
Value thresholded_relu(Value x, double alpha = 1.0);
Value operator+(Value x, Value y);
Value operator-(Value x, Value y);
Value operator*(Value x, Value y);
Value operator/(Value x, Value y);
Value operator-(Value x);
Value mod(Value x, Value y);   // with the sign of y
Value fmod(Value x, Value y);  // with the sign of x
Value maximum(Value x, Value y);
Value minimum(Value x, Value y);
Value pow(Value x, Value y);
Value equal(Value x, Value y);
Value not_equal(Value x, Value y);
Value less(Value x, Value y);
Value less_equal(Value x, Value y);
Value greater(Value x, Value y);
Value greater_equal(Value x, Value y);
Value is_nan(Value x);
Value is_inf(Value x, bool positive = true, bool negative = true);
Value logical_not(Value x);
Value logical_and(Value x, Value y);
Value logical_or(Value x, Value y);
Value logical_xor(Value x, Value y);
Value bitwise_not(Value x);
Value bitwise_and(Value x, Value y);
Value bitwise_or(Value x, Value y);
Value bitwise_xor(Value x, Value y);
Value shift_left(Value x, Value bits);
Value shift_right(Value x, Value bits);  // signed integers keep their sign
Value where(Value condition, Value x, Value y);
Value cast(Value x, DType dtype);
Value stop_gradient(Value x);  // x, which no gradient passes
// A constant of x's graph and dtype, to write expressions with: scalar(x, 2) * x.
Value scalar(Value like, double value);

// Reductions over any axes; none given means all. Kept axes have length 1. The gradient of an
// extreme is shared by those that are equal, as PyTorch's amax has it; l1 and l2 have 0 at 0.
Value sum(Value x, const Ints& axes = {}, bool keep = false);
Value mean(Value x, const Ints& axes = {}, bool keep = false);
Value reduce_max(Value x, const Ints& axes = {}, bool keep = false);
Value reduce_min(Value x, const Ints& axes = {}, bool keep = false);
Value prod(Value x, const Ints& axes = {}, bool keep = false);
Value l1(Value x, const Ints& axes = {}, bool keep = false);           // sum |x|
Value l2(Value x, const Ints& axes = {}, bool keep = false);           // sqrt(sum x^2)
Value sum_square(Value x, const Ints& axes = {}, bool keep = false);   // sum x^2
Value mean_square(Value x, const Ints& axes = {}, bool keep = false);  // mean x^2
Value log_sum(Value x, const Ints& axes = {}, bool keep = false);      // log(sum x)
Value logsumexp(Value x, const Ints& axes = {}, bool keep = false);    // log(sum exp(x))
Value reduce_any(Value x, const Ints& axes = {}, bool keep = false);   // of bools
Value reduce_all(Value x, const Ints& axes = {}, bool keep = false);
// Where the extreme of each row is, as i64: the first of equals, or the last. NaN is found first.
Value argmax(Value x, int64_t axis = 0, bool keep = false, bool select_last = false);
Value argmin(Value x, int64_t axis = 0, bool keep = false, bool select_last = false);
// The sum or product of each element and those before it; exclusive: of those before it;
// reverse: of those behind it.
Value cumsum(Value x, int64_t axis, bool exclusive = false, bool reverse = false);
Value cumprod(Value x, int64_t axis, bool exclusive = false, bool reverse = false);
// Of each element, `before` ones before it and `after` ones behind it, where there are so many.
Value window_sum(Value x, int64_t axis, int64_t before, int64_t after);
Value softmax(Value x, int64_t axis = -1);
Value log_softmax(Value x, int64_t axis = -1);
// Over the trailing axes from `axis` on; gamma and beta may be absent.
Value layer_norm(Value x, Value gamma, Value beta, int64_t axis = -1, double epsilon = 1e-5);
Value rms_norm(Value x, Value gamma, int64_t axis = -1, double epsilon = 1e-6);
// Of x [B, C, ...]; gamma and beta [C] may be absent. The channels in `groups` parts; 0: each for
// itself, which is instance_norm.
Value group_norm(Value x, Value gamma, Value beta, int64_t groups, double epsilon = 1e-5);
Value instance_norm(Value x, Value gamma, Value beta, double epsilon = 1e-5);
// With the statistics of each channel, [C], given.
Value batch_norm(Value x, Value gamma, Value beta, Value mean, Value variance,
                 double epsilon = 1e-5);
// With those of the batch; running is momentum * running + (1 - momentum) * batch.
struct BatchNorm {
  Value y, mean, variance, running_mean, running_variance;
};
BatchNorm batch_norm_training(Value x, Value gamma, Value beta, Value running_mean,
                              Value running_variance, double epsilon = 1e-5, double momentum = 0.9);
// x / (bias + alpha / size * s)^beta, where s sums x^2 over `size` neighbouring channels.
Value lrn(Value x, int64_t size, double alpha = 1e-4, double beta = 0.75, double bias = 1);

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
Value det(Value a);  // the determinants of a [.., N, N]

// Signals whose last dim is 1, or 2 for the parts of complex numbers.
struct DftOptions {
  int64_t length = 0;  // 0: as many as there are samples; else they are cut or zeros follow
  bool inverse = false;
  bool onesided = false;  // only the first length / 2 + 1 frequencies
};
// The discrete Fourier transform along an axis, as the product with a matrix.
Value dft(Value x, int64_t axis, const DftOptions& options = {});
// That of frames of `length` samples, every `step`: signal [B, S, 1 or 2] to [B, frames, K, 2].
Value stft(Value signal, int64_t step, int64_t length, Value window = {}, bool onesided = true);
// a0 - a1 cos(t) + a2 cos(2 t) - .. over `size` places, one integer known on the host; t makes a
// full turn at the end, or if it is not periodic at the last place.
Value cosine_window(Value size, const Floats& terms, bool periodic = true,
                    DType dtype = DType::f32);

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

// Losses. `reduction` is none, mean or sum. Labels are classes along `axis` of the logits (integers
// of its shape without that axis), or probabilities of its shape. With integers, `weights` are one
// for each class, a row labelled `ignore_index` counts for nothing, and the mean is weighted.
struct ClassLossOptions {
  std::string reduction = "mean";
  int64_t axis = -1;
  std::optional<int64_t> ignore_index = {};
};
Value softmax_cross_entropy(Value logits, Value labels, Value weights = {},
                            const ClassLossOptions& options = {});
Value nll_loss(Value log_probabilities, Value labels, Value weights = {},
               const ClassLossOptions& options = {});
Value binary_cross_entropy_with_logits(Value logits, Value labels,
                                       const std::string& reduction = "mean");
Value mse(Value x, Value y, const std::string& reduction = "mean");
// Quadratic up to `delta`, linear beyond.
Value huber(Value x, Value y, double delta = 1.0, const std::string& reduction = "mean");

// Random numbers by Philox 4x32-10, the same on every device. `seed` is one integer or two, the
// key.
Value random_uniform(Value seed, const Dims& shape, double low = 0, double high = 1,
                     DType dtype = DType::f32);  // in [low, high)
Value random_normal(Value seed, const Dims& shape, double mean = 0, double deviation = 1,
                    DType dtype = DType::f32);
// Zeroes elements with probability `ratio` and scales the others so that the mean stays.
Value dropout(Value x, Value seed, double ratio);
Value dropout_mask(Value x, Value seed, double ratio);  // true: kept

struct SampleOptions {
  double temperature = 1;  // 0: the first of the largest
  int64_t top_k = 0;       // 0: all
  double top_p = 1;
  double min_p = 0;  // of the largest probability
};
// A class for each row of logits[.., V], as i64[..]: the uniform of row r is Philox with the key
// `seed` at the counter (r, step).
Value sample(Value logits, Value seed, Value step, const SampleOptions& options = {});

// Quantisation: round(x / scale) + zero_point, saturated, and back. The zero point may be absent.
// `scale` has one element, or one for each index of `axis`, or (block > 0) one for each block of
// indices along it. Gradients are straight through where quantise does not saturate, and none where
// it does: both together have those of fake_quantise.
struct QuantiseOptions {
  DType to = DType::u8;  // where no zero point tells
  int64_t axis = 1;
  int64_t block = 0;
};
Value quantise(Value x, Value scale, Value zero_point = {}, const QuantiseOptions& options = {});
Value dequantise(Value x, Value scale, Value zero_point = {}, const QuantiseOptions& options = {});
struct DynamicallyQuantised {
  Value y, scale, zero_point;
};
DynamicallyQuantised dynamic_quantise(Value x);  // to u8, by the range of x and 0
// x as `bits` bits would hold it, in steps of `scale`, which broadcasts. What the gradient of x is
// where x is out of range: that of the result (plain), or none (clipped).
Value fake_quantise(Value x, Value scale, int64_t bits = 8,
                    const std::string& estimator = "clipped");

struct AttentionOptions {
  int64_t heads = 1;               // of q, where heads lie side by side in one dim
  int64_t kv_heads = 0;            // of k and v; 0: as many as q
  std::string layout = "bhsd";     // of 4-dim operands: bhsd, bshd
  bool causal = false;             // query i sees keys up to i + (S_k - S_q)
  int64_t window = -1;             // and from that less `window` on; -1: from the first
  double scale = 0;                // 0: 1 / sqrt(D)
  double softcap = 0;              // 0: none
  std::string empty_row = "zero";  // of a row with every key masked: zero, nan
};
// q [B, H, S_q, D], k [B, H_kv, S_k, D], v [B, H_kv, S_k, D_v], or all [B, S, H, D], or all
// [B, S, H * D]; the result is laid out like q. `bias`, added to the scores, broadcasts to
// [B, H, S_q, S_k], and may be a bool mask (true: keep); `mask` is one beside a bias.
Value attention(Value q, Value k, Value v, Value bias = {}, const AttentionOptions& options = {},
                Value mask = {});
// The same of qkv [B, S, 3, H, D], read in place; the result is [B, S, H, D].
Value packed_attention(Value qkv, Value bias = {}, AttentionOptions options = {}, Value mask = {});
// Which keys causal attention over scores [.., S_q, S_k] sees, as bool[S_q, S_k].
Value causal_mask(Value scores, int64_t window = -1);

// x [.., S, D], or [.., S, H, D] if layout is bshd; cos and sin [S, n_rot / 2], or one table per
// batch: [B, S, n_rot / 2]. Pairs are (d, d + n_rot/2), or neighbours if interleaved.
Value rope(Value x, Value cos, Value sin, bool interleaved = false,
           const std::string& layout = "bhsd");
struct RopeTables {
  Value cos, sin;
};
// Tables for integer positions: the angle of pair i is position / theta^(2 i / n_rot).
RopeTables rope_tables(Value positions, int64_t n_rot, double theta = 10000);
struct RopeOptions {
  int64_t n_rot = -1;  // -1: all of D
  double theta = 10000;
  bool interleaved = false;
  std::string layout = "bhsd";
};
// x turned by the tables of its positions [S] or [B, S].
Value rope_at(Value x, Value positions, const RopeOptions& options = {});

Value gather(Value x, Value indices, int64_t axis = 0);
// x with rows along `axis` at `indices` replaced by (or with `reduction` add, mul, max, min)
// updates.
// `deterministic`: floats are added and multiplied in the order of the updates, always.
Value scatter(Value x, Value indices, Value updates, int64_t axis = 0,
              const std::string& reduction = "none", bool deterministic = false);
// For each index the element at its own coordinates, but at the index along `axis`.
Value gather_elements(Value x, Value indices, int64_t axis = 0);
Value scatter_elements(Value x, Value indices, Value updates, int64_t axis = 0,
                       const std::string& reduction = "none", bool deterministic = false);
// The blocks that tuples of indices, the last dim of `indices`, name, batch by batch.
Value gather_nd(Value x, Value indices, int64_t batch_dims = 0);
Value scatter_nd(Value x, Value indices, Value updates, const std::string& reduction = "none",
                 int64_t batch_dims = 0, bool deterministic = false);
// A new axis of length `depth`: on where an index names it, off elsewhere. Values are {off, on}.
Value one_hot(Value indices, int64_t depth, DType dtype = DType::f32, int64_t axis = -1);
Value one_hot(Value indices, Value depth, Value values, int64_t axis = -1);
// Of each sequence of a batch the first lengths[b] positions reversed.
Value reverse_sequence(Value x, Value lengths, int64_t time_axis = 0, int64_t batch_axis = 1);
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
Value shape_of(Value x);                              // as i64[rank]
Value shape_of(Value x, int64_t start, int64_t end);  // some of the dims
Value size_of(Value x);                               // the number of elements, as i64[]
Value flatten(Value x, int64_t axis = 1);             // the dims before `axis`, and from it on
Value tile(Value x, const Dims& repeats);
Value tile(Value x, Value repeats);
// In parts of the given lengths, or in equal ones of which the last may be smaller: views of x.
Values split(Value x, const Dims& lengths, int64_t axis);
Values split(Value x, int64_t parts, int64_t axis);
Value reverse(Value x, const Ints& axes);
Value roll(Value x, const Ints& shifts, const Ints& axes);
// `pads` before each axis, then after each; negative ones take off. Modes: constant, reflect, edge,
// wrap.
Value pad(Value x, const Dims& pads, const std::string& mode = "constant", double value = 0,
          const Ints& axes = {});
Value pad(Value x, Value pads, const std::string& mode = "constant", Value value = {},
          const Ints& axes = {});
// start, start + delta, .. before limit: integers known on the host, or floats of like's dtype.
Value range(Value start, Value limit, Value delta);
Value range(Value like, double start, double limit, double delta);
Value float_range(Value start, Value limit, Value delta);  // floats that only the run knows
Value counting(Value like, const Dim& count, DType dtype = DType::i64);  // 0, 1, .. count - 1
Value trilu(Value x, bool upper = true, int64_t k = 0);  // zeros on the other side of a diagonal
Value trilu(Value x, bool upper, Value k);
Value eye_like(Value x, DType dtype, int64_t k = 0);
struct ResizeOptions {
  std::string mode = "nearest";                 // linear, cubic
  std::string coordinates = "half_pixel";       // as ONNX names them
  std::string rounding = "round_prefer_floor";  // of nearest: _ceil, floor, ceil
  Ints axes = {};                               // empty: all
  Floats scales = {};                           // of the axes; empty: from the sizes
  Floats roi = {};                              // starts and ends, for tf_crop_and_resize
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75, outside_value = 0;
  // As ONNX is written: scales are the fractions they stand for, coordinates exact numbers, and
  // align_corners has its last corner at scale * extent. Otherwise as onnxruntime and PyTorch
  // compute: nearest finds its coordinates in f32, and the last corner is the last element.
  bool exact = false;
};
// Along the axes to `sizes`, or where there are none by options.scales.
Value resize(Value x, const Dims& sizes, const ResizeOptions& options = {});
Value resize(Value x, Value sizes, const ResizeOptions& options = {});
struct GridSampleOptions {
  std::string mode = "linear";    // nearest, cubic
  std::string padding = "zeros";  // border, reflection
  bool align_corners = false;     // -1 and 1 are the middles of the outermost elements
};
// x [N, C, H, W] at the places (x, y) that grid [N, H', W', 2] names, from -1 to 1.
Value grid_sample(Value x, Value grid, const GridSampleOptions& options = {});
Value depth_to_space(Value x, int64_t block, const std::string& mode = "DCR");
Value space_to_depth(Value x, int64_t block);

struct TopK {
  Value values, indices;
};
TopK top_k(Value x, int64_t k, int64_t axis = -1, bool largest = true);  // ties to the lower index
TopK top_k(Value x, Value k, int64_t axis = -1, bool largest = true);    // k known at run time
TopK sort(Value x, int64_t axis = -1, bool descending = false);  // stable; and where each was
Value argsort(Value x, int64_t axis = -1, bool descending = false);
// The different elements of x, or the different slices along an axis: in order, or as they come.
struct Unique {
  Value values, indices, inverse, counts;  // indices: of the first of each; inverse: x's in values
};
Unique unique(Value x, std::optional<int64_t> axis = {}, bool sorted = true);
Value non_zero(Value x);  // [rank, count]: where the elements are that are not 0
// Of boxes [B, N, 4] the best by scores [B, C, N] that overlap no better one by more than `overlap`
// of their union, at most `most` for each class, with scores above `least`: rows (batch, class,
// box). Boxes are two corners (y, x), or if `centred` a middle (x, y), a width and a height.
Value non_max_suppression(Value boxes, Value scores, Value most = {}, Value overlap = {},
                          Value least = {}, bool centred = false);

// Strings are bytes, u8[..., length], as rlx/tensor/strings.h keeps them.
struct NormaliseTextOptions {
  std::string letter_case = "none";  // of what is left: lower, upper
  Strings stopwords = {};            // these strings are left out
  bool case_sensitive = false;       // is "Monday" another than "monday"?
};
// Of strings [C] or [1, C] those that are no stopwords; one that is empty where none is left.
Value normalise_text(Value text, const NormaliseTextOptions& options = {});
Value text_to_numbers(Value text, DType dtype);  // "1e-5", "-INF", "NaN"; another word is an Error
Value numbers_to_text(Value x);                  // the fewest digits that read back

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
struct RoiAlignOptions {
  std::string mode = "avg";       // max
  int64_t height = 1, width = 1;  // bins of a region
  int64_t samples = 0;            // along each axis of a bin; 0: as many as it has elements
  double scale = 1;               // from the regions' coordinates to those of x
  bool half_pixel = true;         // coordinates count from the edge of the first element
};
// Of x [N, C, H, W] the regions (x1, y1, x2, y2) of rois [K, 4], each of picture batch_indices [K].
Value roi_align(Value x, Value rois, Value batch_indices, const RoiAlignOptions& options = {});
// x at its places in a tensor of `shape` that is zero elsewhere: what max_pool left out is lost.
Value max_unpool(Value x, Value indices, const Dims& shape);
// The elements under each window as columns, [B, C * taps, places].
Value im2col(Value x, const Ints& window, const PoolOptions& options = {});

// Recurrent nets as ONNX has them; any of the values may be absent.
struct RecurrentOptions {
  Value bias = {}, sequence_lens = {}, initial_h = {}, initial_c = {}, peepholes = {};
  std::string direction = "forward";  // forward, reverse, bidirectional
  int64_t layout = 0;                 // 1: batches come first
  double clip = 0;                    // 0: none
  Strings activations = {};           // ONNX's names, for each direction
  Floats activation_alpha = {}, activation_beta = {};
  bool input_forget = false;         // lstm
  bool linear_before_reset = false;  // gru
};
// x [S, B, I], w [directions, gates * H, I], r [directions, gates * H, H], bias [directions,
// 2 * gates * H]; gates i o f c of an lstm, z r h of a gru. The results are y [S, directions, B, H]
// and the last state [directions, B, H], of an lstm also its cell's.
Values lstm(Value x, Value w, Value r, const RecurrentOptions& options = {});
Values gru(Value x, Value w, Value r, const RecurrentOptions& options = {});
Values rnn(Value x, Value w, Value r, const RecurrentOptions& options = {});

// The outputs of `then` or `otherwise`, bodies with the same inputs; their outputs may differ in
// extents. What a body needs from outside is among its inputs.
// What a body computes of the inputs, as one kernel where a device can.
Values fused(const Values& inputs, Graph body);
Values if_else(Value condition, const Values& inputs, Graph then, Graph otherwise);
struct LoopOptions {
  Values scanned = {};   // of which an iteration reads its row
  Values captured = {};  // which every iteration reads whole
  bool reverse = false;  // from the last iteration, and row, to the first
};
// Runs `body` count times. Its inputs are the iteration (i64[]), the carried values, a row of each
// scanned value, and the captured values; its outputs the carried values of the next iteration, and
// rows of further results, which are stacked.
Values loop(Value count, const Values& carried, Graph body, const LoopOptions& options = {});
// ONNX's Loop: while the condition holds and at most `most` times; either may be absent. The body's
// inputs are the iteration, the condition (bool[]), the carried and the captured values; its
// outputs the next condition, the next carried values, and rows to stack.
Values while_loop(Value most, Value condition, const Values& carried, Graph body,
                  const Values& captured = {});
struct ScanOptions {
  Ints input_axes = {}, output_axes = {};              // absent: 0
  Ints input_directions = {}, output_directions = {};  // 1: backwards; absent: 0
  Values captured = {};
};
// ONNX's Scan: the body's inputs are the states, a slice of each scanned value, and the captured
// values; its outputs the next states, and slices of further results.
Values scan(const Values& states, const Values& scanned, const Graph& body,
            const ScanOptions& options = {});

// The activations that linear and conv take by name, each with the parameters it has by default.
Value activate(Value x, const std::string& activation);

}  // namespace rlx
