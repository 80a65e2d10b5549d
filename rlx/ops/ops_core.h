// The ops that gradients, compositions and importers are written with. Most files include this
// header, so a new op has its declaration in the header of its family instead.
#pragma once

#include <string>

#include "rlx/ir/value.h"

namespace rlx {

// On single elements; operands broadcast. Where there is no slope, gradients are those PyTorch has:
// relu, abs and sign have 0 at their kinks, clip all of it at both ends; maximum and minimum give
// half to each of two equals. floor, ceil and sign have 0 everywhere.
Value operator+(Value x, Value y);
Value operator-(Value x, Value y);
Value operator-(Value x);
Value operator*(Value x, Value y);
Value operator/(Value x, Value y);
// With a number, which x's dtype must hold: 0.5 beside an integer is an Error.
Value operator+(Value x, double y);
Value operator-(Value x, double y);
Value operator*(Value x, double y);
Value operator/(Value x, double y);
Value operator+(double x, Value y);
Value operator-(double x, Value y);
Value operator*(double x, Value y);
Value operator/(double x, Value y);
Value neg(Value x);
Value abs(Value x);
Value sign(Value x);
Value maximum(Value x, Value y);
Value minimum(Value x, Value y);
Value pow(Value x, Value y);
Value exp(Value x);
Value log(Value x);
Value sqrt(Value x);
Value rsqrt(Value x);
Value sin(Value x);
Value cos(Value x);
Value floor(Value x);
Value ceil(Value x);
// Half to even. Its gradient is straight through, that of x; round(stop_gradient(x)) has the exact
// one, 0.
Value round(Value x);
Value clip(Value x, double min, double max);
Value relu(Value x);
Value sigmoid(Value x);
Value tanh(Value x);
Value gelu(Value x);  // exact, by erf
Value equal(Value x, Value y);
Value not_equal(Value x, Value y);
Value less(Value x, Value y);
Value less_equal(Value x, Value y);
Value greater(Value x, Value y);
Value greater_equal(Value x, Value y);
Value logical_not(Value x);
Value logical_and(Value x, Value y);
Value logical_or(Value x, Value y);
Value where(Value condition, Value x, Value y);
Value cast(Value x, DType dtype);
Value stop_gradient(Value x);  // x, which no gradient passes
// A constant of x's graph and dtype, to write expressions with: maximum(x, scalar(x, 2)).
Value scalar(Value like, double value);

// Over any axes; none given means all. Kept axes have length 1. The gradient of an extreme is
// shared by those that are equal, as PyTorch's amax has it.
Value sum(Value x, const Ints& axes = {}, bool keep = false);
Value mean(Value x, const Ints& axes = {}, bool keep = false);
Value reduce_max(Value x, const Ints& axes = {}, bool keep = false);
Value reduce_min(Value x, const Ints& axes = {}, bool keep = false);
Value sum_square(Value x, const Ints& axes = {}, bool keep = false);   // sum x^2
Value mean_square(Value x, const Ints& axes = {}, bool keep = false);  // mean x^2
Value softmax(Value x, int64_t axis = -1);
Value log_softmax(Value x, int64_t axis = -1);

// NumPy's rules in full; either side transposed in its last two dims.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);
// activation(x . w + bias); w is [K, N], or [N, K] when transpose_w. An activation is a node of its
// own; an empty one is none.
Value linear(Value x, Value w, Value bias = {}, const std::string& activation = "",
             bool transpose_w = false);

Value reshape(Value x, const Dims& shape);  // one dim may be -1
Value reshape(Value x, Value shape);        // an integer tensor: a constant, or known at run time
Value transpose(Value x, const Ints& order);
Value expand(Value x, const Dims& shape);
Value squeeze(Value x, const Ints& axes);
Value unsqueeze(Value x, const Ints& axes);
Value flatten(Value x, int64_t axis = 1);  // the dims before `axis`, and from it on
Value concat(const Values& parts, int64_t axis);
// starts, ends and steps per axis, NumPy's rules; `axes` empty: all in order.
Value slice(Value x, const Ints& starts, const Ints& ends, const Ints& axes = {},
            const Ints& steps = {});
// The same with ends known only at run time.
Value slice(Value x, Value starts, Value ends, const Ints& axes = {}, const Ints& steps = {});
// x with a block of it, from `starts` on, replaced by `update`; in place where x is not read again.
Value write_slice(Value x, Value update, Value starts);
// In parts of the given lengths, or in equal ones of which the last may be smaller: views of x.
Values split(Value x, const Dims& lengths, int64_t axis);
Values split(Value x, int64_t parts, int64_t axis);
// `pads` before each axis, then after each; negative ones take off. Modes: constant, reflect, edge,
// wrap.
Value pad(Value x, const Dims& pads, const std::string& mode = "constant", double value = 0,
          const Ints& axes = {});
Value pad(Value x, Value pads, const std::string& mode = "constant", Value value = {},
          const Ints& axes = {});

Value shape_of(Value x);                              // as i64[rank]
Value shape_of(Value x, int64_t start, int64_t end);  // some of the dims
Value size_of(Value x);                               // the number of elements, as i64[]
// start, start + delta, .. before limit: integers known on the host, or floats of like's dtype.
Value range(Value start, Value limit, Value delta);
Value range(Value like, double start, double limit, double delta);
Value counting(Value like, const Dim& count, DType dtype = DType::i64);  // 0, 1, .. count - 1

Value gather(Value x, Value indices, int64_t axis = 0);
// x with rows along `axis` at `indices` replaced by (or with `reduction` add, mul, max, min)
// updates.
// `deterministic`: floats are added and multiplied in the order of the updates, always.
Value scatter(Value x, Value indices, Value updates, int64_t axis = 0,
              const std::string& reduction = "none", bool deterministic = false);
Value non_zero(Value x);  // [rank, count]: where the elements are that are not 0

// What ops that pick elements give: the elements, and where each was.
struct TopK {
  Value values, indices;
};

}  // namespace rlx
