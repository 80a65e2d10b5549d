// Steps that write out what passes look for, as exporters do, in orders and with constants that are
// random: some are what a pass finds, some only look like it.

#include <algorithm>

#include "rlx/conformance/random_pool.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_reduction.h"

namespace rlx {
namespace {

using Fill = CaseInput::Fill;

// The number, or sometimes another one.
double about(RandomPool& p, double number) {
  return p.random.chance(0.07) ? number * 1.01 : number;
}
Value constant(RandomPool& p, Value like, double number) {
  Dims shape;
  if (p.random.chance(0.1)) shape.assign(like.shape().size(), 1);
  const Tensor tensor = Tensor::scalar(like.dtype(), about(p, number));
  const Value made = p.graph.constant(tensor.reshaped(concrete(shape)));
  return p.random.chance(0.1) ? neg(neg(made)) : made;  // computed of constants
}
Value times(RandomPool& p, Value x, double number) {
  if (p.random.chance(0.3)) return x / constant(p, x, 1 / number);
  const Value by = constant(p, x, number);
  return p.random.chance(0.5) ? x * by : by * x;
}
Value plus(RandomPool& p, Value x, double number) {
  if (p.random.chance(0.2)) return x - constant(p, x, -number);
  const Value by = constant(p, x, number);
  return p.random.chance(0.5) ? x + by : by + x;
}
Value product_of(RandomPool& p, Value a, Value b) { return p.random.chance(0.5) ? a * b : b * a; }
Value sum_of(RandomPool& p, Value a, Value b) { return p.random.chance(0.5) ? a + b : b + a; }
Value square(RandomPool& p, Value x) {
  return p.random.chance(0.5) ? x * x : pow(x, constant(p, x, 2));
}
// An inner value that something else may read, too, or that is an output.
Value inner(RandomPool& p, Value value) {
  if (p.random.chance(0.08)) p.keep(value, false);
  return p.random.chance(0.1) ? reshape(value, shape_of(value)) : value;
}
// The value once more, or sometimes another of its type, which makes it another formula.
Value again(RandomPool& p, Value x) {
  if (!p.random.chance(0.04)) return x;
  return p.random.chance(0.5) ? tanh(x) : p.add_input(x.dtype(), x.shape());
}
// Weights as exporters have them; sometimes data.
Value weight(RandomPool& p, DType dtype, const Dims& shape, Fill fill = Fill::normal) {
  if (p.random.chance(0.1) || !is_concrete(shape)) return p.add_input(dtype, shape, fill);
  if (count(concrete(shape)) > 4096) fail(ErrorKind::limit, "a large weight");
  const Tensor tensor = random_tensor(dtype, concrete(shape), fill, 0, false, p.random);
  if (p.random.chance(0.3)) return p.graph.constant(tensor);
  return p.graph.weight(text('w', p.graph.nodes().size()), tensor);
}

void gelu_step(RandomPool& p) {
  const Value x = p.any_float().value;
  Value gate;
  if (p.random.chance(0.5)) {
    gate = erf(times(p, x, 0.7071067811865476));
  } else if (p.random.chance(0.5)) {
    const Value cube =
        p.random.chance(0.5) ? pow(x, constant(p, x, 3)) : product_of(p, square(p, x), x);
    gate = tanh(times(p, sum_of(p, x, times(p, cube, 0.044715)), 0.7978845608028654));
  } else {
    gate = tanh(times(p, product_of(p, x, plus(p, times(p, square(p, x), 0.044715), 1)),
                      0.7978845608028654));
  }
  const Value of = again(p, x);
  if (p.random.chance(0.2))
    return p.keep(product_of(p, of, inner(p, plus(p, times(p, gate, 0.5), 0.5))), false);
  gate = inner(p, plus(p, gate, 1));
  switch (p.random.between(0, 2)) {
    case 0:
      return p.keep(times(p, product_of(p, of, gate), 0.5), false);
    case 1:
      return p.keep(product_of(p, times(p, of, 0.5), gate), false);
    default:
      return p.keep(product_of(p, of, times(p, gate, 0.5)), false);
  }
}

Value written_sigmoid(RandomPool& p, Value x) {
  if (p.random.chance(0.6)) return sigmoid(x);
  const Value below = inner(p, plus(p, exp(-x), 1));
  return p.random.chance(0.5) ? reciprocal(below) : constant(p, x, 1) / below;
}

void gate_step(RandomPool& p) {
  constexpr double kBounds[] = {-1.5, -0.5, 0, 0.5, 2};
  const Value x = p.any_float().value;
  switch (p.random.between(0, 9)) {
    case 0:
      return p.keep(product_of(p, again(p, x), inner(p, written_sigmoid(p, x))), false);
    case 1:
      return p.keep(times(p, product_of(p, x, inner(p, clip(plus(p, x, 3), 0, 6))), 1.0 / 6),
                    false);
    case 2:
      return p.keep(clip(plus(p, times(p, x, 0.2), 0.5), 0, 1), false);
    case 3:
      return p.keep(times(p, clip(plus(p, x, 3), 0, 6), 1.0 / 6), false);
    case 4:
      return p.keep(log(plus(p, exp(x), 1)), false);
    case 5:
      return p.keep(product_of(p, x, tanh(log1p(exp(x)))), false);
    case 6:
      return p.keep(x / inner(p, plus(p, abs(again(p, x)), 1)), false);
    case 7: {  // between these numbers, or what is a number where the first is not the lower one
      const double least = p.random.pick(kBounds), most = p.random.pick(kBounds);
      return p.keep(maximum(minimum(x, constant(p, x, most)), constant(p, x, least)), false);
    }
    case 8: {
      constexpr double kSlopes[] = {0.1, 0.5, 1.5, -0.5};
      return p.keep(maximum(x, times(p, again(p, x), p.random.pick(kSlopes))), false);
    }
    default:
      return p.keep(minimum(maximum(x, constant(p, x, 0)), constant(p, x, 2)), false);
  }
}

void softmax_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  const int64_t axis = p.axis_of(x), other = p.random.chance(0.1) ? p.axis_of(x) : axis;
  const bool keep = !p.random.chance(0.05);
  const Value shifted = inner(p, x - reduce_max(x, {axis}, true)), weights = exp(shifted);
  const Value total = sum(weights, {other}, keep);
  switch (p.random.between(0, 3)) {
    case 0:
      return p.keep(inner(p, weights) / total, false);
    case 1:
      return p.keep(shifted - log(total), false);
    case 2:
      return p.keep(log(softmax(x, axis)), false);
    default:
      return p.keep(x - logsumexp(x, {axis}, true), false);
  }
}

// Some of the last axes, or others.
Ints norm_axes(RandomPool& p, Value x) {
  const int64_t all = rank(x.type()), first = p.random.between(0, all - 1);
  Ints axes;
  for (int64_t axis = p.random.chance(0.6) ? all - 1 : first; axis < all; ++axis)
    axes.push_back(p.random.chance(0.3) ? axis - all : axis);
  if (p.random.chance(0.1)) axes = {p.axis_of(x)};
  return axes;
}
Value root_divided(RandomPool& p, Value x, Value square) {
  const Value sum = plus(p, square, p.random.chance(0.5) ? 0.01 : 1e-5);
  switch (p.random.between(0, 3)) {
    case 0:
      return x / sqrt(sum);
    case 1:
      return product_of(p, x, rsqrt(sum));
    case 2:
      return product_of(p, x, reciprocal(sqrt(sum)));
    default:
      return x / pow(sum, constant(p, sum, 0.5));
  }
}
// The extents of some last axes, or of the channels with ones behind.
Dims norm_weight(RandomPool& p, Value x) {
  Dims shape = x.shape();
  const int64_t all = rank(x.type());
  if (all > 2 && p.random.chance(0.4)) {
    shape = {x.shape()[1]};
    for (int64_t i = 2; i < all; ++i) shape.emplace_back(1);
    return shape;
  }
  shape.erase(shape.begin(), shape.begin() + p.random.between(0, all - 1));
  for (Dim& dim : shape)
    if (p.random.chance(0.1)) dim = 1;
  return shape;
}
void norm_step(RandomPool& p) {
  Value x = p.any_float(1).value;
  const DType narrow = x.dtype();
  const bool widens = p.random.chance(0.3);
  if (widens) x = cast(x, DType::f32);
  const Ints axes = norm_axes(p, x), again = p.random.chance(0.15) ? norm_axes(p, x) : axes;
  Value y;
  if (p.random.chance(0.4)) {
    y = root_divided(p, x, inner(p, mean(square(p, x), axes, true)));
  } else if (p.random.chance(0.2)) {
    const Value centre = mean(x, axes, true), distance = x - centre;
    const Value scale = product_of(p,
                                   root_divided(p, weight(p, x.dtype(), norm_weight(p, x)),
                                                mean(square(p, distance), again, true)),
                                   scalar(x, 1));
    y = x * scale + (weight(p, x.dtype(), norm_weight(p, x)) - centre * scale);
  } else {
    const Value centre = inner(p, mean(x, axes, true));
    const Value distance = inner(p, x - centre);
    if (p.random.chance(0.3)) {
      const Value variance = mean(square(p, x), again, true) - square(p, centre);
      y = root_divided(p, distance, p.random.chance(0.3) ? relu(variance) : variance);
    } else {
      y = root_divided(p, distance, mean(square(p, distance), again, true));
    }
  }
  if (widens) y = cast(y, narrow);
  if (p.random.chance(0.7)) y = product_of(p, inner(p, y), weight(p, y.dtype(), norm_weight(p, x)));
  if (p.random.chance(0.6)) y = sum_of(p, inner(p, y), weight(p, y.dtype(), norm_weight(p, x)));
  p.keep(y, false);
}
void group_norm_step(RandomPool& p) {
  const Value x = p.choose([](const PoolEntry& e) {
                     return is_float(e.value.dtype()) && rank(e.value.type()) >= 3;
                   }).value;
  const int64_t groups = p.random.between(1, 4);
  const Value rows = reshape(x, Dims{x.shape()[0], groups, -1});
  Value y;
  if (p.random.chance(0.5)) {
    y = instance_norm(rows, weight(p, x.dtype(), {groups}), weight(p, x.dtype(), {groups}), 0.1);
  } else {
    const Value distance = rows - mean(rows, {2}, true);
    y = distance / sqrt(plus(p, mean(distance * distance, {-1}, true), 0.1));
  }
  y = reshape(y, x.shape());
  if (p.random.chance(0.7)) y = y * weight(p, x.dtype(), norm_weight(p, x));
  if (p.random.chance(0.7)) y = y + weight(p, x.dtype(), norm_weight(p, x));
  p.keep(y, false);
}

// A scale or shift: per channel, of another shape, or a number.
Value affine(RandomPool& p, Value y, size_t behind) {
  const int64_t all = rank(y.type());
  for (int64_t times_done = p.random.between(0, 2); times_done > 0; --times_done) {
    if (p.random.chance(0.3)) {
      y = p.random.chance(0.5) ? times(p, y, 1.5) : plus(p, y, 0.25);
      continue;
    }
    Dims shape{y.shape()[static_cast<size_t>(all) - 1 - behind]};
    for (size_t i = 0; i < behind; ++i) shape.emplace_back(1);
    if (p.random.chance(0.3)) shape.insert(shape.begin(), 1);
    if (p.random.chance(0.1)) shape = {1};
    if (p.random.chance(0.1)) shape = {y.shape().back()};
    const Value by = weight(p, y.dtype(), shape);
    y = p.random.chance(0.5) ? product_of(p, y, by) : sum_of(p, y, by);
  }
  return y;
}
Value maybe_norm(RandomPool& p, Value y) {
  if (rank(y.type()) < 2 || p.random.chance(0.5)) return y;
  const Dim& channels = y.shape()[1];
  const auto maybe = [&] {
    return p.random.chance(0.7) ? weight(p, y.dtype(), {channels}) : Value{};
  };
  const Value gamma = maybe(), beta = maybe();
  return batch_norm(y, gamma, beta, weight(p, y.dtype(), {channels}),
                    weight(p, y.dtype(), {channels}, Fill::positive), 0.1);
}
// What a convolution or a product is of: often new, with channels that make groups.
Value weighed(RandomPool& p, bool window) {
  if (p.random.chance(0.5))
    return p
        .choose([&](const PoolEntry& e) {
          const int64_t axes = rank(e.value.type());
          return is_float(e.value.dtype()) && (window ? axes == 3 || axes == 4 : axes >= 1);
        })
        .value;
  Dims shape{p.random.pick(p.dims), 2 * p.random.between(1, 3)};
  for (int64_t i = window ? p.random.between(1, 2) : 0; i > 0; --i)
    shape.push_back(p.random.pick(p.dims));
  return p.add_input(DType::f32, shape);
}
void folded_step(RandomPool& p) {
  const bool window = p.random.chance(0.6);
  const Value x = weighed(p, window);
  const size_t behind = window ? x.shape().size() - 2 : 0;
  const Value in = affine(p, x, behind);
  const Dim& channels = in.shape()[in.shape().size() - 1 - behind];
  const int64_t outputs = 2 * p.random.between(1, 3);
  Value y;
  if (window) {
    const int64_t groups =
        channels.is_number() && channels.number() % 2 == 0 && p.random.chance(0.4) ? 2 : 1;
    const bool spread = p.random.chance(0.3);
    Dims shape =
        spread ? Dims{channels, Dim(outputs / groups)} : Dims{outputs, floor_div(channels, groups)};
    for (size_t i = 0; i < behind; ++i) shape.emplace_back(p.random.between(1, 3));
    const Ints pads = p.random.chance(0.5) ? Ints(2 * behind, 1) : Ints{};
    const Value bias = p.random.chance(0.5) ? weight(p, x.dtype(), {outputs}) : Value{};
    const Value w = weight(p, x.dtype(), shape);
    const std::string act = p.random.chance(0.1) ? "relu" : "";
    y = spread ? conv_transpose(in, w, bias, {.pads = pads, .groups = groups, .activation = act})
               : conv(in, w, bias, {.pads = pads, .groups = groups, .activation = act});
  } else {
    const bool turned = p.random.chance(0.5);
    const Value w =
        weight(p, x.dtype(), turned ? Dims{outputs, channels} : Dims{channels, Dim(outputs)});
    const Value bias = p.random.chance(0.5) ? weight(p, x.dtype(), {outputs}) : Value{};
    y = p.random.chance(0.5) ? matmul(in, w, false, turned) : linear(in, w, bias, "", turned);
  }
  const Dims& made = y.shape();
  if (behind > 0 && made[1] == made.back() && p.random.chance(0.5))  // no scale of channels
    return p.keep(product_of(p, y, weight(p, x.dtype(), {made.back()})), false);
  p.keep(affine(p, maybe_norm(p, inner(p, y)), behind), false);
}

// Orders of axes that merge, and may cancel.
void transposes_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  Value y = x.value;
  for (int64_t n = p.random.between(1, 3); n > 0; --n) {
    Ints order;
    for (int64_t axis = 0; axis < rank(y.type()); ++axis) order.push_back(axis);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(p.random.between(0, int64_t(i) - 1))]);
    y = inner(p, transpose(y, order));
  }
  p.keep(y, x.exact);
}

// Views around ops on elements, which may cancel.
void cancelled_step(RandomPool& p) {
  const Value x = p.any_float(2).value;
  const Dims shape = x.shape();
  const bool turns = p.random.chance(0.5);
  Ints order;
  for (int64_t axis = 0; axis < rank(x.type()); ++axis) order.push_back(axis);
  std::swap(order[size_t(p.axis_of(x))], order[size_t(p.axis_of(x))]);
  Dims parted = shape;
  const size_t at = size_t(p.axis_of(x));
  parted.insert(parted.begin() + int64_t(at) + 1, 1);
  if (shape[at].is_number() && shape[at].number() % 2 == 0 && p.random.chance(0.7)) {
    parted[at] = 2;
    parted[at + 1] = shape[at].number() / 2;
  }
  Value y = turns ? transpose(x, order) : reshape(x, parted);
  for (int64_t n = p.random.between(1, 3); n > 0; --n) {
    if (p.random.chance(0.5)) {
      y = inner(p, p.random.chance(0.5) ? tanh(y) : times(p, y, 1.5));
      continue;
    }
    Dims other = y.shape();
    other.erase(other.begin(), other.begin() + p.random.between(0, rank(y.type()) - 1));
    for (Dim& dim : other)
      if (p.random.chance(0.4)) dim = 1;
    const Value by = weight(p, y.dtype(), other);
    y = p.random.chance(0.5) ? sum_of(p, y, by) : product_of(p, y, by);
  }
  if (p.random.chance(0.1)) std::swap(order.front(), order.back());
  p.keep(turns ? transpose(y, order) : reshape(y, shape), false);
}

// Copies that may be views: rows by known indices, parts that may be neighbours, extents of 1.
void views_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const int64_t axis = p.axis_of(x.value);
  const Dim& extent = x.value.shape()[static_cast<size_t>(axis)];
  if (p.random.chance(0.2)) return p.keep(sum(unsqueeze(x.value, {axis}), {axis}), false);
  if (!extent.is_number() || extent.number() == 0) return;
  const int64_t rows = extent.number(), first = p.random.between(0, rows - 1);
  if (p.random.chance(0.5)) {
    std::vector<double> at;
    for (int64_t i = first; i < std::min(rows, first + 3); ++i)
      at.push_back(static_cast<double>(p.random.chance(0.1) ? 0 : i - (i == 0 ? 0 : rows)));
    const Tensor list = Tensor::of(DType::i64, {static_cast<int64_t>(at.size())}, at);
    const bool single = p.random.chance(0.3);
    const Tensor indices = single ? Tensor::of(DType::i64, {}, {at[0]}) : list;
    return p.keep(gather(x.value, p.graph.constant(indices), axis), x.exact);
  }
  const int64_t second = p.random.between(first, rows);
  Values parts;
  for (const auto& [from, to] : {std::pair(int64_t{0}, first), std::pair(first, second),
                                 std::pair(p.random.chance(0.1) ? first : second, rows)})
    parts.push_back(slice(x.value, Ints{from}, Ints{to}, {axis}));
  if (p.random.chance(0.1)) std::swap(parts[0], parts[2]);
  const Value whole = inner(p, concat(parts, axis));
  p.keep(whole, x.exact);
  if (p.random.chance(0.5)) {  // of one operand, or of several
    const Value pair = concat({whole, x.value}, axis);
    const int64_t from = p.random.between(0, 2 * rows - 1), to = p.random.between(from, 2 * rows);
    p.keep(slice(pair, Ints{from}, Ints{to}, {axis}), x.exact);
  }
}

// Alike ops on neighbouring slices of a value, which come together again or go their ways.
void slices_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  const int64_t axis = p.axis_of(x);
  const Dim& extent = x.shape()[static_cast<size_t>(axis)];
  if (!extent.is_number() || extent.number() < 2) return;
  const int64_t count = p.random.between(2, std::min<int64_t>(extent.number(), 5));
  Dims shape = x.shape();
  shape[static_cast<size_t>(axis)] = 1;
  const Value by = weight(p, x.dtype(), shape), square = inner(p, x * x);
  const bool odd = p.random.chance(0.1), together = p.random.chance(0.5);
  Values parts;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t first = extent.number() * k / count, end = extent.number() * (k + 1) / count;
    const auto of = [&](Value whole) { return slice(whole, Ints{first}, Ints{end}, {axis}); };
    const Value part = of(x);
    const Value y = tanh(part) + by;
    parts.push_back(inner(p, odd && k == 1 ? abs(y) : y * (together ? of(square) : part)));
  }
  if (p.random.chance(0.1)) std::swap(parts[0], parts[1]);
  if (together) return p.keep(concat(parts, axis), false);
  for (const Value& part : parts) p.keep(p.random.chance(0.5) ? softmax(part, axis) : part, false);
}

// A matrix [rows, columns] of bytes as floats, of the dtype, by a scale and perhaps a zero point:
// of the whole, of an axis, or what is none of both.
Value dequantised_matrix(RandomPool& p, DType dtype, const Dim& rows, int64_t columns) {
  const DType bytes = p.random.chance(0.1)   ? DType::i16
                      : p.random.chance(0.5) ? DType::u8
                                             : DType::i8;
  const bool turned = p.random.chance(0.4);
  Value w = weight(p, bytes, turned ? Dims{columns, rows} : Dims{rows, Dim(columns)});
  const bool before = p.random.chance(0.5);
  if (turned && before) w = inner(p, transpose(w, {1, 0}));
  const int64_t axis = p.random.between(0, 1);
  Dims shape;
  if (p.random.chance(0.5)) shape = {w.shape()[static_cast<size_t>(axis)]};
  const Value scale = weight(p, dtype, shape, Fill::positive),
              zero = p.random.chance(0.5) ? weight(p, bytes, shape) : Value{};
  const Value floats = inner(p, dequantise(w, scale, zero, {.axis = axis}));
  return turned && !before ? transpose(floats, {1, 0}) : floats;
}

// A product, or a convolution, of bytes that become floats on the way; blocks of them share scales.
void bytes_step(RandomPool& p) {
  const auto byte = [&] { return p.random.chance(0.5) ? DType::u8 : DType::i8; };
  const auto floats = [&](Value bytes, const Dims& scales, const QuantiseOptions& options) {
    const Value scale = weight(p, DType::f32, scales, Fill::positive),
                zero = p.random.chance(0.5) ? weight(p, bytes.dtype(), scales) : Value{};
    return inner(p, dequantise(bytes, scale, zero, options));
  };
  const int64_t depth = 2 * p.random.between(1, 3), columns = p.random.between(1, 5);
  const Dim rows = p.random.pick(p.dims);
  if (p.random.chance(0.3)) {
    const Value x = floats(p.add_input(byte(), {rows, depth, 5}), {}, {}),
                w = floats(weight(p, byte(), {columns, depth, 3}),
                           p.random.chance(0.5) ? Dims{columns} : Dims{}, {.axis = 0});
    return p.keep(conv(x, w, p.random.chance(0.5) ? weight(p, DType::f32, {columns}) : Value{},
                       {.pads = p.random.chance(0.5) ? Ints{1, 1} : Ints{}}),
                  false);
  }
  const bool turned = p.random.chance(0.4), blocks = p.random.chance(0.3);
  const int64_t along = p.random.chance(0.1) ? 0 : 1;  // of [depth, columns], or its transpose
  Dims shape = turned ? Dims{columns, depth} : Dims{depth, columns}, scales;
  QuantiseOptions options{.axis = turned ? 1 - along : along};
  if (blocks) {
    options.axis = turned ? 1 : 0;
    options.block = 2;
    scales = shape;
    scales[static_cast<size_t>(options.axis)] = depth / 2;
  } else if (p.random.chance(0.6)) {
    scales = {shape[static_cast<size_t>(options.axis)]};
  }
  const Value w = floats(weight(p, byte(), shape), scales, options);
  const Value x = p.random.chance(0.6) ? floats(p.add_input(byte(), {rows, depth}),
                                                p.random.chance(0.1) ? Dims{depth} : Dims{}, {})
                                       : p.add_input(DType::f32, {rows, depth});
  const Value right = turned && p.random.chance(0.5) ? transpose(w, {1, 0}) : w;
  const bool flag = turned && right == w;
  p.keep(p.random.chance(0.7) ? matmul(x, right, false, flag)
                              : linear(x, right, weight(p, DType::f32, {columns}), "", flag),
         false);
}

// A table of bytes that is read by rows, by products, or by both.
void quantised_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  const Dim depth = x.shape().back();
  if (!depth.is_number()) return;
  const int64_t columns = p.random.between(1, 6);
  const bool turned = p.random.chance(0.3);
  const Value table = turned ? dequantised_matrix(p, x.dtype(), columns, depth.number())
                             : dequantised_matrix(p, x.dtype(), depth, columns);
  if (p.random.chance(0.4) && !table.shape()[0].is(0)) {
    const Tensor rows = Tensor::of(DType::i64, {2}, {0, -1});
    const int64_t axis = p.random.chance(0.3) && !table.shape()[1].is(0) ? 1 : 0;
    p.keep(gather(table, p.graph.constant(rows), axis), false);
    if (p.random.chance(0.5)) return;
  }
  p.keep(p.random.chance(0.7) ? matmul(x, table, false, turned)
                              : linear(x, table, weight(p, x.dtype(), {columns}), "", turned),
         false);
}

}  // namespace

std::vector<RandomStep> random_formulas() {
  return {gelu_step,       gate_step,      softmax_step, norm_step,       norm_step,
          group_norm_step, folded_step,    folded_step,  transposes_step, views_step,
          quantised_step,  cancelled_step, bytes_step,   slices_step};
}

}  // namespace rlx
