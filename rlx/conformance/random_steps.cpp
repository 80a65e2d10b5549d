// The steps a random graph grows by, each an op or a few on values that are there.
#include <climits>

#include "rlx/conformance/random_pool.h"
#include "rlx/ops/ops_activation.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/ops_norm.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/ops_sort.h"

namespace rlx {
namespace {

using Fill = CaseInput::Fill;

void unary_step(RandomPool& p) {
  using Function = Value (*)(Value);
  constexpr Function kExact[] = {neg, abs, relu};
  constexpr Function kRounded[] = {tanh, sigmoid, silu, gelu, gelu_tanh, sin, cos, erf, softplus};
  if (p.random.chance(0.3)) {
    const PoolEntry x = p.any_float();
    return p.keep(p.random.pick(kExact)(x.value), x.exact);
  }
  p.keep(p.random.pick(kRounded)(p.any_float().value), false);
}
void guarded_step(RandomPool& p) {
  const Value x = p.any_float().value;
  switch (p.random.between(0, 3)) {
    case 0:
      return p.keep(exp(clip(x, -3, 3)), false);
    case 1:
      return p.keep(log(abs(x) + scalar(x, 0.5)), false);
    case 2:
      return p.keep(sqrt(abs(x) + scalar(x, 0.25)), false);
    default:
      return p.keep(reciprocal(abs(x) + scalar(x, 0.5)), false);
  }
}
void clip_step(RandomPool& p) {
  const PoolEntry x = p.any_float();
  p.keep(clip(x.value, -2, 1.5), x.exact);
}
void binary_step(RandomPool& p) {
  const PoolEntry x = p.any_float(), y = p.partner_of(x.value);
  switch (p.random.between(0, 5)) {
    case 0:
      return p.keep(x.value + y.value, false);
    case 1:
      return p.keep(x.value - y.value, false);
    case 2:
      return p.keep(x.value * y.value, false);
    case 3:
      return p.keep(maximum(x.value, y.value), x.exact && y.exact);
    case 4:
      return p.keep(minimum(x.value, y.value), x.exact && y.exact);
    default:
      return p.keep(x.value / (abs(y.value) + scalar(y.value, 1)), false);
  }
}
void integer_step(RandomPool& p) {
  const PoolEntry x = p.random.chance(0.5)
                          ? PoolEntry{p.add_input(DType::i32, p.any().value.shape()), true}
                          : p.any_of(DType::i32);
  const Value y = p.partner_of(x.value).value;
  using Function = Value (*)(Value, Value);
  constexpr Function kFunctions[] = {operator+, operator-, operator*, maximum, minimum};
  p.keep(p.random.pick(kFunctions)(x.value, y), true);
}
void compare_step(RandomPool& p) {
  const PoolEntry x = p.any_exact_float();
  const Value y = p.add_input(x.value.dtype(), x.value.shape());
  using Function = Value (*)(Value, Value);
  constexpr Function kFunctions[] = {less, less_equal, greater, greater_equal, equal, not_equal};
  p.keep(p.random.pick(kFunctions)(x.value, y), true);
}
void where_step(RandomPool& p) {
  const PoolEntry condition = p.any_of(DType::boolean);
  const Value like = condition.value;
  const Value x = p.add_input(DType::f32, like.shape());
  const PoolEntry y = p.random.chance(0.5) ? p.partner_of(x) : PoolEntry{scalar(x, 0.5), true};
  p.keep(where(condition.value, x, y.value), y.exact);
}
void rounding_step(RandomPool& p) {
  using Function = Value (*)(Value);
  constexpr Function kFunctions[] = {floor, ceil, round, sign};
  p.keep(p.random.pick(kFunctions)(p.any_exact_float().value), true);
}
void cast_step(RandomPool& p) {
  const PoolEntry x = p.any();
  switch (x.value.dtype()) {
    case DType::f32:
      return p.keep(cast(x.value, p.random.chance(0.7) ? DType::f16 : DType::bf16), x.exact);
    case DType::i32:
      return p.keep(cast(x.value, p.random.chance(0.5) ? DType::f32 : DType::i64), true);
    default:
      return p.keep(cast(x.value, DType::f32), x.exact);
  }
}
void truncate_step(RandomPool& p) { p.keep(cast(p.any_exact_float().value, DType::i32), true); }

void reduction_step(RandomPool& p) {
  using Function = Value (*)(Value, const Ints&, bool);
  constexpr Function kFunctions[] = {reduce_max, reduce_min, sum,        mean,        prod,
                                     l1,         l2,         sum_square, mean_square, logsumexp};
  const PoolEntry x = p.any_float(1);
  Ints axes;
  for (int64_t axis = 0; axis < rank(x.value.type()); ++axis)
    if (p.random.chance(0.5)) axes.push_back(axis);
  const Function function = p.random.pick(kFunctions);
  const bool chooses = function == reduce_max || function == reduce_min;
  p.keep(function(x.value, axes, p.random.chance(0.5)), chooses && x.exact);
}
void norm_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  switch (p.random.between(0, 3)) {
    case 0:
      return p.keep(layer_norm(x, {}, {}, p.axis_of(x), 0.1), false);
    case 1:
      return p.keep(rms_norm(x, {}, p.axis_of(x), 0.1), false);
    case 2:
      return p.keep(log_softmax(x, p.axis_of(x)), false);
    default:
      return p.keep(softmax(x, p.axis_of(x)), false);
  }
}
void matmul_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  if (rank(x.type()) > 1 && p.random.chance(0.25)) return p.keep(matmul(x, x, false, true), false);
  const Dim columns = p.random.pick(p.dims);
  const bool transposed = p.random.chance(0.3);
  const Dims shape = transposed ? Dims{columns, x.shape().back()} : Dims{x.shape().back(), columns};
  const Value w = p.add_input(x.dtype(), shape);
  if (p.random.chance(0.5)) return p.keep(matmul(x, w, false, transposed), false);
  const Value bias = p.random.chance(0.6) ? p.add_input(x.dtype(), {columns}) : Value{};
  constexpr const char* kActivations[] = {"", "relu", "gelu", "silu", "tanh"};
  p.keep(linear(x, w, bias, kActivations[p.random.between(0, 4)], transposed), false);
}

void transpose_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  Ints order;
  for (int64_t axis = 0; axis < rank(x.value.type()); ++axis)
    order.insert(order.begin() + p.random.between(0, axis), axis);
  p.keep(transpose(x.value, order), x.exact);
}
void reshape_step(RandomPool& p) {
  const PoolEntry x = p.any();
  if (rank(x.value.type()) < 2 || p.random.chance(0.3))
    return p.keep(reshape(x.value, Dims{count(x.value.shape())}), x.exact);
  Dims shape = x.value.shape();
  const size_t at =
      static_cast<size_t>(p.random.between(0, static_cast<int64_t>(shape.size()) - 2));
  shape[at] = shape[at] * shape[at + 1];
  shape.erase(shape.begin() + static_cast<int64_t>(at) + 1);
  p.keep(reshape(x.value, shape), x.exact);
}
void rank_step(RandomPool& p) {
  const PoolEntry x = p.any();
  for (int64_t axis = 0; axis < rank(x.value.type()); ++axis)
    if (x.value.shape()[static_cast<size_t>(axis)].is(1))
      return p.keep(squeeze(x.value, {axis}), x.exact);
  p.keep(unsqueeze(x.value, {p.random.between(0, rank(x.value.type()))}), x.exact);
}
void expand_step(RandomPool& p) {
  const PoolEntry x = p.any();
  Dims shape = x.value.shape();
  shape.insert(shape.begin(), p.random.pick(p.dims));
  p.keep(expand(x.value, shape), x.exact);
}
void slice_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const int64_t axis = p.axis_of(x.value), length = p.extent(x.value, axis);
  if (p.random.chance(0.3))
    return p.keep(slice(x.value, Ints{-1}, Ints{INT64_MIN}, {axis}, {-p.random.between(1, 2)}),
                  x.exact);
  const int64_t start = p.random.between(0, length), end = p.random.between(start, length);
  p.keep(slice(x.value, Ints{start}, Ints{end}, {axis}, {p.random.between(1, 3)}), x.exact);
}
void concat_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const int64_t axis = p.axis_of(x.value);
  Dims shape = x.value.shape();
  shape[static_cast<size_t>(axis)] = p.random.pick(p.dims);
  const Value other = p.add_input(x.value.dtype(), shape);
  p.keep(
      concat(p.random.chance(0.5) ? Values{x.value, other} : Values{other, x.value, other}, axis),
      x.exact);
}
Value add_indices(RandomPool& p, int64_t limit) {
  if (limit == 0) fail(ErrorKind::unsupported, "nothing to index");
  return p.add_input(p.random.chance(0.5) ? DType::i32 : DType::i64, {p.random.pick(p.dims)},
                     Fill::index, limit);
}
void gather_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const int64_t axis = p.axis_of(x.value);
  p.keep(gather(x.value, add_indices(p, p.extent(x.value, axis)), axis), x.exact);
}
void scatter_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  const int64_t axis = p.axis_of(x);
  const Value indices = add_indices(p, p.extent(x, axis));
  Dims shape = x.shape();
  shape[static_cast<size_t>(axis)] = indices.shape()[0];
  p.keep(scatter(x, indices, p.add_input(x.dtype(), shape), axis, "add"), false);
}
void sort_step(RandomPool& p) {
  const Value x = p.any_exact_float(1).value;
  const int64_t axis = p.axis_of(x), length = p.extent(x, axis);
  const bool whole = p.random.chance(0.5), down = p.random.chance(0.5);
  const TopK sorted =
      whole ? sort(x, axis, down) : top_k(x, p.random.between(0, length), axis, down);
  p.keep(sorted.values, true);
  p.keep(sorted.indices, true);
}

}  // namespace

std::vector<RandomStep> random_steps() {
  return {unary_step,     unary_step,     guarded_step,   binary_step, binary_step,   binary_step,
          clip_step,      integer_step,   compare_step,   where_step,  rounding_step, cast_step,
          truncate_step,  reduction_step, reduction_step, norm_step,   matmul_step,   matmul_step,
          transpose_step, reshape_step,   rank_step,      expand_step, slice_step,    concat_step,
          gather_step,    scatter_step,   sort_step};
}

}  // namespace rlx
