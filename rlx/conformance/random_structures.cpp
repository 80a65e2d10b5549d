// More formulas for passes to find, and to leave alone: attention, products of one value, and views
// and casts that change nothing.

#include <algorithm>
#include <limits>

#include "rlx/conformance/random_pool.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/ops_logic.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/ops_rearrange.h"

namespace rlx {

const OpDef& quantised_matmul_op();

namespace {

Value number(Value like, double value) { return scalar(like, value); }
Value inner(RandomPool& p, Value value) {
  if (p.random.chance(0.05)) p.keep(value, false);
  return value;
}
Value weight(RandomPool& p, DType dtype, const Dims& shape) {
  if (p.random.chance(0.05) || !is_concrete(shape)) return p.add_input(dtype, shape);
  return p.graph.weight(
      text('w', p.graph.nodes().size()),
      random_tensor(dtype, concrete(shape), CaseInput::Fill::normal, 0, false, p.random));
}
Value swapped(Value x, bool last_two) {
  Ints order;
  for (int64_t axis = 0; axis < rank(x.type()); ++axis) order.push_back(axis);
  if (last_two)
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  else
    std::swap(order[1], order[2]);
  return transpose(x, order);
}
Value maybe_scaled(RandomPool& p, Value x) {
  if (p.random.chance(0.6)) return x;
  return p.random.chance(0.5) ? x * number(x, 0.6) : x / number(x, 1.7);
}

// What hides a key, or nearly does.
constexpr double kLow = -1e32;  // with room for noise above what f32 has
Value lowest(RandomPool& p, Value like) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNumbers[] = {-kInfinity, -kInfinity, kLow, -9e3};
  return number(like, p.random.pick(kNumbers));
}

// Which keys a query sees by where both are: those up to its own, perhaps within a window, or
// nearly so.
Value seen_by_place(RandomPool& p, Value scores) {
  const Dims& shape = scores.shape();
  const Dim &queries = shape[shape.size() - 2], &keys = shape.back();
  const int64_t further = p.random.chance(0.1) ? p.random.between(-1, 1) : 0;
  if (is_concrete({queries, keys}) && p.random.chance(0.4)) {
    const Value all = expand(number(scores, 1), Dims{queries, keys});
    const int64_t own = keys.number() - queries.number() + further;
    if (p.random.chance(0.5)) return equal(trilu(all, true, own + 1), number(scores, 0));
    return not_equal(trilu(all, false, own), number(scores, 0));
  }
  const auto extent = [&](int64_t axis) {
    return squeeze(shape_of(scores, rank(scores.type()) + axis, rank(scores.type()) + axis + 1),
                   {0});
  };
  const auto whole = [&](int64_t value) {
    return p.graph.constant(Tensor::of(DType::i64, {}, {static_cast<double>(value)}));
  };
  const Value columns = counting(scores, keys);
  Value rows = unsqueeze(counting(scores, queries), {1}) + whole(further);
  if (p.random.chance(0.9)) rows = rows + (extent(-1) - extent(-2));
  Value seen = p.random.chance(0.5)   ? less_equal(columns, rows)
               : p.random.chance(0.5) ? greater(rows + whole(1), columns)
                                      : logical_not(less(rows, columns));
  if (p.random.chance(0.3))
    seen = logical_and(seen, greater_equal(columns, rows - whole(p.random.between(0, 3))));
  return p.random.chance(0.3) ? unsqueeze(seen, {0}) : seen;
}

Value masked_by_place(RandomPool& p, Value scores) {
  if (rank(scores.type()) < 2) fail(ErrorKind::unsupported, "no scores");
  Value seen = seen_by_place(p, scores);
  const Value low = lowest(p, scores), zero = number(scores, 0);
  if (p.random.chance(0.3)) {  // keys that are hidden by place, or by a mask of the run
    const Value place = p.random.chance(0.5) ? seen : logical_not(seen);
    const Value hidden = logical_or(place, p.add_input(DType::boolean, seen.shape()));
    if (p.random.chance(0.2)) return where(hidden, scores, low);  // the other way round
    return p.random.chance(0.5) ? where(hidden, low, scores) : scores + where(hidden, low, zero);
  }
  if (p.random.chance(0.2)) seen = logical_and(seen, p.add_input(DType::boolean, seen.shape()));
  if (p.random.chance(0.1)) seen = logical_not(seen);  // keys behind the query alone
  if (p.random.chance(0.3)) return where(seen, scores, low);
  Value bias = p.random.chance(0.5) ? where(seen, zero, low) : where(logical_not(seen), low, zero);
  if (p.random.chance(0.3)) bias = bias + p.add_input(scores.dtype(), {scores.shape().back()});
  return scores + inner(p, bias);
}

Value masked(RandomPool& p, Value scores) {
  Dims shape = scores.shape();
  shape.erase(shape.begin(), shape.begin() + p.random.between(0, rank(scores.type()) - 1));
  for (Dim& dim : shape)
    if (p.random.chance(0.3)) dim = 1;
  const auto lowered = [&](Value of) {
    const Value low = lowest(p, of), seen = p.add_input(DType::boolean, shape);
    if (of.dtype() == DType::f32 && p.random.chance(0.2)) {
      const Value factor = cast(seen, DType::f32);
      return of * factor + (number(of, 1) - factor) * number(of, kLow);
    }
    return p.random.chance(0.5) ? where(seen, of, low) : where(seen, low, of);
  };
  if (p.random.chance(0.4)) return masked_by_place(p, scores);
  switch (p.random.between(0, 5)) {
    case 0:
      return scores;
    case 1:
      return scores + p.add_input(scores.dtype(), shape);
    case 2:
      return lowered(scores);
    case 3:
      return p.add_input(scores.dtype(), shape) + inner(p, lowered(scores));
    case 4:
      return lowered(scores + p.add_input(scores.dtype(), shape));
    default:
      return number(scores, 2) * tanh(scores / number(scores, 2));
  }
}

struct Masking {
  Value (*mask)(RandomPool& p, Value scores);
  double other_keys;  // how often there are not as many as queries
  double empty_rows;  // how often rows that see no key are zeros
};
void written_attention(RandomPool& p, const Masking& masking) {
  const int64_t axes = p.random.between(2, 4);
  const DType dtype = p.random.chance(0.15) ? DType::f16 : DType::f32;
  Dims shape;
  for (int64_t i = 0; i < axes; ++i) shape.push_back(p.random.pick(p.dims));
  const bool inside = axes == 4 && p.random.chance(0.5);  // heads behind positions
  const size_t positions = inside ? 1 : static_cast<size_t>(axes) - 2;
  Dims keys = shape;
  if (p.random.chance(masking.other_keys)) keys[positions] = p.random.pick(p.dims);
  if (p.random.chance(0.1)) keys[0] = 1;
  Value q = p.add_input(dtype, shape), k = p.add_input(dtype, keys), v = p.add_input(dtype, keys);
  const auto heads_first = [&](Value x) { return inside ? swapped(x, false) : x; };
  // Each head twice, or sometimes all heads once more behind themselves.
  const auto repeated = [&](Value x, size_t heads) {
    if (x.shape()[heads].is_number() && p.random.chance(0.5)) {
      const int64_t count = x.shape()[heads].number();
      const bool mixed = p.random.chance(0.3);
      Tensor places(DType::i64, {2 * count});
      for (int64_t i = 0; i < 2 * count; ++i) places.set_integer(i, mixed ? i % count : i / 2);
      return gather(x, p.graph.constant(places), static_cast<int64_t>(heads));
    }
    const int64_t axis = static_cast<int64_t>(heads) + (p.random.chance(0.1) ? 0 : 1);
    Dims many = x.shape(), whole = many;
    many.insert(many.begin() + axis, 2);
    whole[heads] = whole[heads] * Dim(2);
    return reshape(expand(unsqueeze(x, {axis}), many), whole);
  };
  if (inside && p.random.chance(0.35)) {
    q = concat({q, q}, 2);
    k = repeated(k, 2);
    v = repeated(v, p.random.chance(0.05) ? 1 : 2);
  }
  q = maybe_scaled(p, heads_first(q));
  k = heads_first(maybe_scaled(p, k));
  v = heads_first(v);
  if (axes == 4 && p.random.chance(0.35)) {
    q = concat({q, q}, 1);
    k = repeated(k, 1);
    v = repeated(v, 1);
  }
  const Value dots = p.random.chance(0.3) ? matmul(q, k, false, true)
                                          : matmul(q, maybe_scaled(p, swapped(k, true)));
  Value scores = masking.mask(p, maybe_scaled(p, inner(p, dots)));
  const bool widens = dtype == DType::f16 && p.random.chance(0.5);
  if (widens) scores = cast(scores, DType::f32);
  Value weights = softmax(scores, p.random.chance(0.05) ? 0 : -1);
  if (widens) weights = cast(weights, dtype);
  if (p.random.chance(masking.empty_rows))
    weights = where(is_nan(weights), number(weights, 0), weights);
  Value y = matmul(inner(p, weights), v);
  if (inside && p.random.chance(0.8)) y = swapped(y, false);
  p.keep(y, false);
}

void written_attention_step(RandomPool& p) { written_attention(p, {masked, 0.7, 0.1}); }
void causal_attention_step(RandomPool& p) { written_attention(p, {masked_by_place, 0.2, 0.4}); }

// As PyTorch's layers write it: heads beside the batch in one axis.
void heads_beside_batch_step(RandomPool& p) {
  const Dim batch = p.random.between(1, 3), queries = p.random.pick(p.dims);
  const Dim keys = p.random.chance(0.5) ? queries : p.random.pick(p.dims);
  const int64_t heads = p.random.between(1, 3), each = p.random.between(1, 4);
  const Dim all = batch * heads;
  const auto parted = [&](const Dim& length) {
    const Value x = p.add_input(DType::f32, {length, batch, heads * each});
    return transpose(reshape(inner(p, x), {length, all, Dim(each)}), {1, 0, 2});
  };
  const Value q = maybe_scaled(p, parted(queries)), k = parted(keys), v = parted(keys);
  Value scores = maybe_scaled(p, matmul(q, transpose(k, {0, 2, 1})));
  if (p.random.chance(0.4)) {
    const Dims masks[] = {{queries, keys}, {all, 1, keys}, {all, queries, keys}, {1, 1, keys}};
    scores = scores + p.add_input(DType::f32, p.random.pick(masks));
  }
  const Value y = inner(p, matmul(softmax(scores), v));
  const Value back = p.random.chance(0.9) ? transpose(y, {1, 0, 2}) : y;
  p.keep(p.random.chance(0.7) ? reshape(back, Dims{-1, heads * each}) : back, false);
}

// A product, views of it, and ops on single elements behind them.
void viewed_product_step(RandomPool& p) {
  Dims shape{p.random.between(1, 3), p.random.pick(p.dims), p.random.between(1, 4)};
  const int64_t columns = 2 * p.random.between(1, 3);
  Value y = matmul(p.add_input(DType::f32, shape), weight(p, DType::f32, {shape.back(), columns}));
  if (p.random.chance(0.5)) y = y + weight(p, DType::f32, {columns});
  for (int64_t n = p.random.between(1, 3); n > 0; --n) {
    switch (p.random.between(0, 3)) {
      case 0:
        y = inner(p, transpose(y, {0, 2, 1}));
        break;
      case 1:
        y = inner(p, reshape(y, {y.shape()[0] * y.shape()[1], 1, y.shape()[2]}));
        break;
      case 2:
        y = p.random.chance(0.5) ? weight(p, y.dtype(), {y.shape()[1], 1}) * y : relu(y);
        break;
      default:
        y = p.random.chance(0.5) ? y + p.add_input(y.dtype(), y.shape()) : y * number(y, 0.5);
    }
  }
  p.keep(tanh(y) + p.add_input(y.dtype(), y.shape()), false);
}

void written_rope_step(RandomPool& p) {
  Dims shape{p.random.pick(p.dims), p.random.pick(p.dims), p.random.pick(p.dims)};
  const int64_t half = p.random.between(1, 4), rest = p.random.chance(0.3) ? 3 : 0;
  shape.emplace_back(2 * half + rest);
  const Value whole = p.add_input(DType::f32, shape);
  const bool inside = p.random.chance(0.3);
  const Dim& positions = shape[inside ? 1 : 2];
  Dims of_table{positions, half};
  if (inside) of_table.insert(of_table.begin() + 1, 1);
  if (p.random.chance(0.3)) of_table.insert(of_table.begin(), {shape[0], Dim(1)});
  if (of_table.size() > 4) of_table.erase(of_table.begin() + 1);
  const Value first = p.add_input(DType::f32, of_table),
              second = p.random.chance(0.9) ? first : p.add_input(DType::f32, of_table);
  const Value angles = concat({first, second}, -1);
  const Value x = rest == 0 ? whole : slice(whole, {0}, {2 * half}, {-1});
  const int64_t cut = half > 1 && p.random.chance(0.1) ? 1 : half;
  const Value low = slice(x, {0}, {cut}, {-1}), high = slice(x, {cut}, {2 * half}, {-1});
  const Value turned = p.random.chance(0.85)  ? concat({-high, inner(p, low)}, -1)
                       : p.random.chance(0.5) ? concat({high, -low}, -1)
                                              : concat({-low, high}, -1);
  const Value others =
      p.random.chance(0.1) ? concat({first, p.add_input(DType::f32, of_table)}, -1) : angles;
  const bool of_cosines = p.random.chance(0.5);  // that the halves of one table may differ
  const Value y =
      inner(p, x * cos(of_cosines ? others : angles)) + turned * sin(of_cosines ? angles : others);
  p.keep(rest == 0 ? y : concat({y, slice(whole, {2 * half}, {INT64_MAX}, {-1})}, -1), false);
}

// The same as a product of complex numbers, of halves or neighbours.
void complex_rope_step(RandomPool& p) {
  Dims shape{p.random.pick(p.dims), p.random.pick(p.dims), p.random.pick(p.dims)};
  const int64_t half = p.random.between(1, 4), all = 2 * half;
  shape.emplace_back(all);
  const Value x = p.add_input(DType::f32, shape),
              angles = p.add_input(DType::f32, {shape[2], Dim(half)});
  const bool neighbours = p.random.chance(0.6), joins = p.random.chance(0.9) == neighbours;
  Dims parted = shape;
  parted.back() = half;
  parted.emplace_back(2);
  const Value pairs = p.random.chance(0.5) ? reshape(x, parted) : Value{};
  const auto part = [&](int64_t which) {
    if (!neighbours) return slice(x, {which * half}, {(which + 1) * half}, {-1});
    if (!pairs) return slice(x, {which}, {all}, {-1}, {2});
    return squeeze(slice(pairs, {which}, {which + 1}, {-1}), {-1});
  };
  const bool swaps = p.random.chance(0.05);
  const Value first = part(swaps ? 1 : 0), second = part(swaps ? 0 : 1);
  const Value c = cos(angles), s = sin(angles);
  const Value real = inner(p, first * c) - s * second;
  const Value imaginary = p.random.chance(0.95) ? first * s + second * c : second * c - first * s;
  if (!joins) return p.keep(concat({real, imaginary}, -1), false);
  p.keep(reshape(concat({unsqueeze(real, {-1}), unsqueeze(imaginary, {-1})}, -1), shape), false);
}

// The same of neighbours.
void written_rope_pairs_step(RandomPool& p) {
  Dims shape{p.random.pick(p.dims), p.random.pick(p.dims), p.random.pick(p.dims)};
  const int64_t half = p.random.between(1, 4), all = 2 * half;
  shape.emplace_back(all);
  const Value x = p.add_input(DType::f32, shape);
  const Value table = p.add_input(DType::f32, {shape[2], Dim(half)});
  const auto repeated = [&](Value value) {
    const Value single = unsqueeze(value, {-1});
    const bool joins = p.random.chance(0.5), wrong = p.random.chance(0.07);
    if (wrong) return concat({value, value}, -1);
    return reshape(joins ? concat({single, single}, -1) : expand(single, Dims{shape[2], half, 2}),
                   Dims{shape[2], all});
  };
  const Value even = slice(x, {0}, {all}, {-1}, {2}), odd = slice(x, {1}, {all}, {-1}, {2});
  const Value first = unsqueeze(p.random.chance(0.95) ? -odd : odd, {-1});
  const Value turned = reshape(concat({inner(p, first), unsqueeze(even, {-1})}, -1), shape);
  const Value sines = p.random.chance(0.5) ? repeated(sin(table)) : sin(repeated(table));
  p.keep(inner(p, x * repeated(cos(table))) + turned * sines, false);
}

void padded_step(RandomPool& p) {
  Dims shape;
  const size_t spatial = static_cast<size_t>(p.random.between(1, 2));
  while (shape.size() < spatial + 2) shape.push_back(p.random.pick(p.dims));
  const Value x = p.add_input(DType::f32, shape);
  Dims pads;
  for (size_t i = 0; i < 2 * shape.size(); ++i)
    pads.emplace_back(i % shape.size() < 2 && !p.random.chance(0.03) ? 0 : p.random.between(0, 2));
  if (p.random.chance(0.05)) pads.back() = -1;
  const bool most = p.random.chance(0.3), lowest = most && p.random.chance(0.5);
  const Value wide = pad(most && p.random.chance(0.7) ? relu(x) : x, pads,
                         p.random.chance(0.1) ? "edge" : "constant",
                         lowest                 ? -std::numeric_limits<double>::infinity()
                         : p.random.chance(0.1) ? 0.5
                                                : 0);
  const Ints own = p.random.chance(0.3) ? Ints(2 * spatial, 1) : Ints{};
  const std::string automatic = own.empty() && p.random.chance(0.2) ? "same_upper" : "";
  if (most) {
    const TopK found = max_pool(inner(p, wide), Ints(spatial, p.random.between(2, 3)),
                                {.pads = own, .auto_pad = automatic});
    if (p.random.chance(0.1)) p.keep(found.indices, true);
    return p.keep(found.values, false);
  }
  if (p.random.chance(0.4))
    return p.keep(average_pool(inner(p, wide), Ints(spatial, 2),
                               {.pads = own,
                                .auto_pad = automatic,
                                .ceil_mode = p.random.chance(0.2),
                                .count_include_pad = p.random.chance(0.5)}),
                  false);
  Dims window{2, wide.shape()[1]};
  for (size_t i = 0; i < spatial; ++i) window.emplace_back(p.random.between(1, 3));
  p.keep(
      conv(inner(p, wide), weight(p, DType::f32, window), {}, {.pads = own, .auto_pad = automatic}),
      false);
}

void joined_step(RandomPool& p) {
  const Value given = p.any_float(1).value,
              second = p.random.chance(0.2) ? p.add_input(given.dtype(), given.shape()) : given;
  const Dim& depth = given.shape().back();
  const bool turned = p.random.chance(0.3), linears = p.random.chance(0.3);
  for (int64_t n = p.random.between(2, 4); n > 0; --n) {
    const Value x = p.random.chance(0.5) ? given : second;  // the same, or of the same type
    const int64_t columns = p.random.between(1, 7);
    const bool other = p.random.chance(0.1) ? !turned : turned;
    const Value w = weight(p, x.dtype(), other ? Dims{columns, depth} : Dims{depth, columns});
    const Value bias = p.random.chance(0.7) ? weight(p, x.dtype(), {columns}) : Value{};
    Value y = linears ? linear(x, w, bias, "", other) : inner(p, matmul(x, w, false, other));
    if (bias && !linears) y = p.random.chance(0.5) ? y + bias : bias + y;
    p.keep(y, false);
  }
}

// The same with bytes and their scales, all of a form or one of another.
void joined_bytes_step(RandomPool& p) {
  const Value x = p.any_of(DType::f32).value;
  if (rank(x.type()) == 0 || !x.shape().back().is_number()) return;
  const int64_t depth = x.shape().back().number();
  if (depth == 0) return;
  const DType dtype = p.random.chance(0.5) ? DType::u8 : DType::i8;
  const bool halves = depth % 2 == 0 && p.random.chance(0.5), zeros = p.random.chance(0.5);
  for (int64_t n = p.random.between(2, 4); n > 0; --n) {
    const auto other = [&] { return p.random.chance(0.2); };
    const int64_t columns = p.random.between(1, 7), block = halves && !other() ? depth / 2 : depth;
    const Dims shape{other() ? 1 : columns, depth / block};
    const DType bytes = other() ? DType::i8 : dtype;
    const Value w = weight(p, bytes, {columns, depth}), scales = weight(p, DType::f32, shape),
                zero = zeros != other() ? weight(p, bytes, shape) : Value{};
    Value y = x.apply(quantised_matmul_op(), {x, w, scales, zero}, {{"block", block}});
    if (p.random.chance(0.4)) y = y + weight(p, DType::f32, {columns});
    p.keep(inner(p, y), false);
  }
}

// A product that is read behind its bias, and that something else reads, too: a kernel that begins
// its sums with the bias would lose it.
void read_twice_step(RandomPool& p) {
  const Value x = p.any_float(2).value;
  const int64_t columns = p.random.between(1, 7);
  const Value y = matmul(x, weight(p, x.dtype(), {x.shape().back(), columns}));
  const Value z = y + weight(p, x.dtype(), p.random.chance(0.7) ? Dims{columns} : y.shape());
  p.keep(z * number(z, 0.5), false);
  p.keep(p.random.chance(0.8) ? sum(y, {-1}) : sum(z, {-1}), false);
}

// The same op of one value twice, alike or with one attribute that differs: only those that are
// alike are one.
void twins_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  const int64_t axis = p.axis_of(x);
  const auto made = [&](int64_t which, bool other) {
    const int64_t along = other && p.random.chance(0.5) ? p.axis_of(x) : axis;
    switch (which) {
      case 0:
        return softmax(x, along);
      case 1:
        return x - reduce_max(x, {along}, true);
      case 2:
        return sum(x, {along}, true);
      case 3:
        return clip(x, -1, other ? 1 : 2);
      case 4:
        return trilu(unsqueeze(x, {0}), other, 0);
      default:
        return roll(x, {other ? 1 : 2}, {along});
    }
  };
  const int64_t which = p.random.between(0, 5);
  const Value first = made(which, false), second = made(which, p.random.chance(0.6));
  p.keep(inner(p, first) - second * number(second, 0.5), false);
}

// Arithmetic of 64 bits that 32 have room for, as far as that is known, or not.
void integers_step(RandomPool& p) {
  const Dims shape{p.random.pick(p.dims), p.random.pick(p.dims)};
  Value y = p.random.chance(0.7) ? cast(p.add_input(DType::boolean, shape), DType::i64)
                                 : p.add_input(DType::i64, shape);
  for (int64_t n = p.random.between(1, 3); n > 0; --n) switch (p.random.between(0, 4)) {
      case 0:
        y = y + number(y, 7);
        break;
      case 1:
        y = y * number(y, -3);
        break;
      case 2:
        y = sum(y, {p.axis_of(y)}, true) - y;
        break;
      case 3:
        y = y * y;
        break;
      default:
        y = minimum(y, number(y, 5));
    }
  p.keep(p.random.chance(0.6) ? cast(y, DType::f32) : y, true);
}

void idle_step(RandomPool& p) {
  const PoolEntry x = p.any();
  const Value v = x.value;
  const bool is_number = is_float(v.dtype());
  switch (p.random.between(0, 8)) {
    case 7: {
      if (!is_number) break;
      const Value seed = p.graph.constant(Tensor::scalar(DType::i64, 3));
      return p.keep(dropout(v, seed, 0), x.exact);
    }
    case 8: {
      Dims pads(2 * v.shape().size(), Dim(0));
      if (pads.empty()) break;
      if (p.random.chance(0.2)) pads.front() = 1, pads[v.shape().size()] = -1;
      return p.keep(pad(v, pads), x.exact);
    }
    case 0:
      if (!is_number) break;
      return p.keep(v * number(v, 1), x.exact);
    case 1:
      if (!is_number) break;
      return p.keep(p.random.chance(0.5) ? v - number(v, 0) : v + number(v, 0), x.exact);
    case 2: {
      constexpr DType kTypes[] = {DType::f16, DType::f32, DType::i32, DType::i64, DType::boolean};
      return p.keep(cast(cast(v, p.random.pick(kTypes)), v.dtype()), false);
    }
    case 3:
      return p.keep(reshape(reshape(v, Dims{-1}), v.shape()), x.exact);
    case 4:
      if (rank(v.type()) == 0) break;
      if (p.random.chance(0.2))  // all of it, backwards
        return p.keep(slice(v, {INT64_MAX}, {INT64_MIN}, {0}, {-1}), x.exact);
      return p.keep(slice(v, {0}, {p.random.between(1, 40)}, {0}), x.exact);
    case 5:
      return p.keep(squeeze(unsqueeze(expand(v, v.shape()), {0}), {0}), x.exact);
    default:
      if (!is_number) break;
      return p.keep(v / number(v, p.random.chance(0.5) ? 4 : 3), false);
  }
  fail(ErrorKind::unsupported, "no such operand");
}

}  // namespace

std::vector<RandomStep> random_structures() {
  return {written_attention_step,
          written_attention_step,
          causal_attention_step,
          causal_attention_step,
          heads_beside_batch_step,
          viewed_product_step,
          written_rope_step,
          written_rope_pairs_step,
          complex_rope_step,
          padded_step,
          joined_step,
          joined_bytes_step,
          read_twice_step,
          twins_step,
          integers_step,
          idle_step};
}

}  // namespace rlx
