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

struct Conv2dOptions {
  Ints strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, 0};  // pads: top, left, bottom, right
  int64_t groups = 1;
  std::string activation = "";
};
// x [B, C, H, W], w [O, C / groups, kH, kW], bias [O].
Value conv2d(Value x, Value w, Value bias = {}, const Conv2dOptions& options = {});

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

// The activations that linear and conv2d take by name.
Value activate(Value x, const std::string& activation);

}  // namespace rlx
