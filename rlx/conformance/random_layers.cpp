// More steps a random graph grows by: ops with many options, which are random too.
#include <algorithm>
#include <cstdint>

#include "rlx/conformance/random_pool.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_convolution.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/ops/ops_einsum.h"
#include "rlx/ops/ops_fill.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_loss.h"
#include "rlx/ops/ops_pool.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/ops/ops_recurrent.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/ops_resize.h"
#include "rlx/ops/ops_rope.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/ops_search.h"

namespace rlx {
namespace {

using Fill = CaseInput::Fill;

Ints some(RandomPool& p, size_t length, int64_t low, int64_t high) {
  Ints result;
  while (result.size() < length) result.push_back(p.random.between(low, high));
  return result;
}

// A float value of this rank, one that is there if there is one.
PoolEntry of_rank(RandomPool& p, int64_t wanted) {
  const auto fits = [&](const PoolEntry& e) {
    return is_float(e.value.dtype()) && rank(e.value.type()) == wanted;
  };
  if (p.random.chance(0.7))
    for (const PoolEntry& entry : p.entries)
      if (fits(entry)) return p.choose(fits);
  Dims shape;
  while (static_cast<int64_t>(shape.size()) < wanted) shape.push_back(p.random.pick(p.dims));
  return {p.add_input(p.random.chance(0.2) ? DType::f16 : DType::f32, shape), true};
}

Value maybe_input(RandomPool& p, DType dtype, const Dims& shape, Fill fill = Fill::normal) {
  return p.random.chance(0.5) ? p.add_input(dtype, shape, fill) : Value{};
}

std::string maybe_auto_pad(RandomPool& p) {
  constexpr const char* kModes[] = {"same_upper", "same_lower", "valid"};
  return p.random.chance(0.2) ? p.random.pick(kModes) : "";
}

struct Windows {
  Value x;
  bool exact;
  size_t spatial;
  Ints window, strides, dilations, pads;
  std::string auto_pad;
};
Windows windows(RandomPool& p) {
  constexpr size_t kSpatial[] = {1, 2, 2, 2, 3};
  Windows w;
  w.spatial = p.random.pick(kSpatial);
  const PoolEntry entry = of_rank(p, static_cast<int64_t>(w.spatial) + 2);
  w.x = entry.value;
  w.exact = entry.exact;
  w.window = some(p, w.spatial, 1, 3);
  if (p.random.chance(0.5)) w.strides = some(p, w.spatial, 1, 3);
  if (p.random.chance(0.3)) w.dilations = some(p, w.spatial, 1, 3);
  w.auto_pad = maybe_auto_pad(p);
  if (w.auto_pad.empty() && p.random.chance(0.6)) w.pads = some(p, 2 * w.spatial, 0, 2);
  return w;
}

int64_t groups_of(RandomPool& p, const Dim& channels) {
  if (!channels.is_number() || p.random.chance(0.5)) return 1;
  const int64_t groups = p.random.chance(0.5) ? channels.number() : 2;
  return groups > 0 && channels.number() % groups == 0 ? groups : 1;
}
std::string maybe_activation(RandomPool& p) {
  constexpr const char* kActivations[] = {"", "", "relu", "silu", "hard_swish"};
  return p.random.pick(kActivations);
}

void conv_step(RandomPool& p) {
  const Windows w = windows(p);
  const Dim channels = w.x.shape()[1];
  const int64_t groups = groups_of(p, channels), outputs = groups * p.random.between(1, 5);
  Dims shape{outputs, floor_div(channels, groups)};
  shape.insert(shape.end(), w.window.begin(), w.window.end());
  const Value kernel = p.add_input(w.x.dtype(), shape);
  const Value bias = maybe_input(p, w.x.dtype(), {outputs});
  p.keep(conv(w.x, kernel, bias,
              {w.strides, w.dilations, w.pads, groups, maybe_activation(p), w.auto_pad}),
         false);
}
void conv_transpose_step(RandomPool& p) {
  const Windows w = windows(p);
  const Dim channels = w.x.shape()[1];
  const int64_t groups = groups_of(p, channels), each = p.random.between(1, 5);
  Dims shape{channels, each};
  shape.insert(shape.end(), w.window.begin(), w.window.end());
  const Value kernel = p.add_input(w.x.dtype(), shape);
  const Value bias = maybe_input(p, w.x.dtype(), {groups * each});
  ConvTransposeOptions options{.strides = w.strides, .dilations = w.dilations, .pads = w.pads};
  options.groups = groups;
  options.auto_pad = w.auto_pad;
  if (p.random.chance(0.3)) options.output_padding = some(p, w.spatial, 0, 1);
  p.keep(conv_transpose(w.x, kernel, bias, options), false);
}
void pool_step(RandomPool& p) {
  Windows w = windows(p);
  for (size_t i = 0; i < w.pads.size(); ++i)  // a window of padding alone has no largest element
    w.pads[i] = std::min(w.pads[i], w.window[i % w.spatial] - 1);
  const PoolOptions options{.strides = w.strides,
                            .dilations = w.dilations,
                            .pads = w.pads,
                            .auto_pad = w.auto_pad,
                            .ceil_mode = p.random.chance(0.4),
                            .count_include_pad = p.random.chance(0.4),
                            .storage_order = p.random.between(0, 1)};
  switch (p.random.between(0, 3)) {
    case 0:
      return p.keep(average_pool(w.x, w.window, options), false);
    case 1:
      return p.keep(lp_pool(w.x, w.window, static_cast<double>(p.random.between(1, 3)), options),
                    false);
    case 2:
      return p.keep(im2col(w.x, w.window, options), w.exact);
    default:
      const TopK found = max_pool(w.x, w.window, options);
      p.keep(found.values, w.exact);
      if (w.exact) p.keep(found.indices, true);
  }
}

void attention_step(RandomPool& p) {
  const int64_t rank = p.random.between(3, 4);
  const Value q = of_rank(p, rank).value;
  AttentionOptions options{.causal = p.random.chance(0.4)};
  if (p.random.chance(0.3)) options.window = p.random.between(0, 6);
  if (p.random.chance(0.3)) options.scale = 0.3;
  if (p.random.chance(0.3)) options.softcap = 2;
  const Dims& s = q.shape();
  const Dim keys = p.random.pick(p.dims), value_size = p.random.pick(p.dims);
  Dims k, v;
  Dim heads = 1, queries = s[1];
  if (rank == 3) {
    if (s[2].is_number()) options.heads = p.random.chance(0.5) && s[2].number() % 2 == 0 ? 2 : 1;
    heads = options.heads;
    k = {s[0], keys, s[2]};
    v = {s[0], keys, value_size * heads};
  } else {
    if (p.random.chance(0.4)) options.layout = "bshd";
    const bool inside = options.layout == "bshd";
    heads = s[inside ? 2 : 1];
    queries = s[inside ? 1 : 2];
    const Dim shared = heads.is_number() && heads.number() % 2 == 0 && p.random.chance(0.5)
                           ? heads.number() / 2
                           : heads;
    k = inside ? Dims{s[0], keys, shared, s[3]} : Dims{s[0], shared, keys, s[3]};
    v = inside ? Dims{s[0], keys, shared, value_size} : Dims{s[0], shared, keys, value_size};
  }
  const Value key = p.add_input(q.dtype(), k), value = p.add_input(q.dtype(), v);
  const auto broadcast = [&] {
    Dims shape{s[0], heads, queries, keys};
    shape.erase(shape.begin(), shape.begin() + p.random.between(0, 2));
    for (Dim& dim : shape)
      if (p.random.chance(0.3)) dim = 1;
    return shape;
  };
  const Value bias = maybe_input(p, p.random.chance(0.7) ? q.dtype() : DType::boolean, broadcast());
  const Value mask = p.random.chance(0.3) ? p.add_input(DType::boolean, broadcast()) : Value{};
  p.keep(attention(q, key, value, bias, options, mask), false);
}
void rope_step(RandomPool& p) {
  const Value x = of_rank(p, p.random.between(2, 4)).value;
  const Dims& s = x.shape();
  const bool inside = s.size() == 4 && p.random.chance(0.4);
  const Dim& length = s[s.size() - (inside ? 3 : 2)];
  const Dim half = s.back().is_number() && p.random.chance(0.5)
                       ? Dim(p.random.between(0, s.back().number() / 2))
                       : floor_div(s.back(), 2);
  Dims table{length, half};
  if (s.size() > 2 && p.random.chance(0.3)) table.insert(table.begin(), s[0]);
  const Value cos = p.add_input(x.dtype(), table), sin = p.add_input(x.dtype(), table);
  p.keep(rope(x, cos, sin, p.random.chance(0.5), inside ? "bshd" : "bhsd"), false);
}
void recurrent_step(RandomPool& p) {
  const Value x = of_rank(p, 3).value;
  const DType dtype = x.dtype();
  const int64_t which = p.random.between(0, 2), gates = which == 0 ? 4 : which == 1 ? 3 : 1;
  RecurrentOptions options{.layout = p.random.between(0, 1)};
  constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  options.direction = p.random.pick(kDirections);
  const Dim directions = options.direction == "bidirectional" ? 2 : 1,
            hidden = p.random.between(1, 9), rows = Dim(gates) * hidden,
            batches = x.shape()[options.layout == 1 ? 0 : 1],
            steps = x.shape()[options.layout == 1 ? 1 : 0];
  const Value w = p.add_input(dtype, {directions, rows, x.shape()[2]}),
              r = p.add_input(dtype, {directions, rows, hidden});
  const Dims state =
      options.layout == 1 ? Dims{batches, directions, hidden} : Dims{directions, batches, hidden};
  options.bias = maybe_input(p, dtype, {directions, rows * Dim(2)});
  options.initial_h = maybe_input(p, dtype, state);
  if (p.random.chance(0.4))
    options.sequence_lens =
        p.add_input(DType::i32, {batches}, Fill::index, steps.value(p.symbols) + 1);
  if (p.random.chance(0.2)) options.clip = 0.7;
  if (which == 0) {
    options.initial_c = maybe_input(p, dtype, state);
    options.peepholes = maybe_input(p, dtype, {directions, hidden * Dim(3)});
    options.input_forget = p.random.chance(0.2);
  }
  options.linear_before_reset = which == 1 && p.random.chance(0.5);
  for (const Value result : (which == 0 ? lstm : which == 1 ? gru : rnn)(x, w, r, options))
    p.keep(result, false);
}

// Ops on single elements before a kernel that may compute them as it loads, sometimes through a
// view, and behind it.
void load_step(RandomPool& p) {
  const PoolEntry x = p.any_float(1), y = p.partner_of(x.value);
  Value loaded = p.random.chance(0.5) ? x.value * y.value : tanh(x.value) + y.value;
  const Value before = loaded;
  if (p.random.chance(0.3)) loaded = abs(loaded) - y.value;
  if (p.random.chance(0.4)) {
    Ints order;
    for (int64_t d = rank(loaded.type()); d-- > 0;) order.push_back(d);
    loaded = transpose(loaded, order);
  }
  const int64_t axis = p.axis_of(loaded);
  switch (p.random.between(0, 6)) {
    case 0:
      p.keep(sum(loaded, {axis}, p.random.chance(0.5)), false);
      break;
    case 1:
      p.keep(reduce_max(loaded, {axis}), false);
      break;
    case 2:
      p.keep(softmax(loaded, axis), false);
      break;
    case 3:
      p.keep(relu(log_softmax(loaded, axis)) + loaded, false);
      break;
    case 4:
      p.keep(cumsum(loaded, axis), false);
      break;
    case 5:
      p.keep(concat({loaded, abs(loaded)}, axis), false);
      break;
    default:
      p.keep(mean(loaded), false);
  }
  if (p.random.chance(0.3)) p.keep(before, false);
}
void cumulative_step(RandomPool& p) {
  const Value x = p.any_float(1).value;
  const int64_t axis = p.axis_of(x);
  const bool exclusive = p.random.chance(0.5), reverse = p.random.chance(0.5);
  switch (p.random.between(0, 2)) {
    case 0:
      return p.keep(cumsum(x, axis, exclusive, reverse), false);
    case 1:
      return p.keep(cumprod(tanh(x), axis, exclusive, reverse), false);
    default:
      return p.keep(window_sum(x, axis, p.random.between(0, 4), p.random.between(0, 4)), false);
  }
}
void arg_step(RandomPool& p) {
  const Value x = p.any_exact_float(1).value;
  const auto function = p.random.chance(0.5) ? argmax : argmin;
  p.keep(function(x, p.axis_of(x), p.random.chance(0.5), p.random.chance(0.5)), true);
}
void logic_step(RandomPool& p) {
  const Value x = p.any_of(DType::boolean).value;
  const auto function = p.random.chance(0.5) ? reduce_any : reduce_all;
  Ints axes;
  if (rank(x.type()) > 0 && p.random.chance(0.7)) axes.push_back(p.axis_of(x));
  p.keep(function(x, axes, p.random.chance(0.5)), true);
}
void channel_norm_step(RandomPool& p) {
  const Value x = of_rank(p, p.random.between(3, 4)).value;
  const Dim channels = x.shape()[1];
  const auto each = [&](Fill fill = Fill::normal) {
    return p.add_input(x.dtype(), {channels}, fill);
  };
  switch (p.random.between(0, 3)) {
    case 0:
      return p.keep(
          group_norm(x, maybe_input(p, x.dtype(), {channels}), {}, groups_of(p, channels), 0.1),
          false);
    case 1:
      return p.keep(instance_norm(x, each(), each(), 0.1), false);
    case 2:
      return p.keep(batch_norm(x, each(), each(), each(), each(Fill::positive), 0.1), false);
    default:
      return p.keep(lrn(x, p.random.between(1, 4)), false);
  }
}

void pad_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  constexpr const char* kModes[] = {"constant", "constant", "reflect", "edge", "wrap"};
  const std::string mode = p.random.pick(kModes);
  Dims pads;
  for (const int64_t n : some(p, 2 * static_cast<size_t>(rank(x.value.type())), -1, 3))
    pads.emplace_back(n);
  p.keep(pad(x.value, pads, mode, 0.5), x.exact);
}
void arrange_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const int64_t axis = p.axis_of(x.value);
  switch (p.random.between(0, 5)) {
    case 0: {
      Dims repeats;
      for (const int64_t n : some(p, static_cast<size_t>(rank(x.value.type())), 1, 3))
        repeats.emplace_back(n);
      return p.keep(tile(x.value, repeats), x.exact);
    }
    case 1:
      return p.keep(roll(x.value, {p.random.between(-5, 5)}, {axis}), x.exact);
    case 2:
      return p.keep(reverse(x.value, {axis}), x.exact);
    case 3:
      for (const Value part : split(x.value, p.random.between(1, 3), axis)) p.keep(part, x.exact);
      return;
    case 4:
      return p.keep(flatten(x.value, p.random.between(0, rank(x.value.type()))), x.exact);
    default:
      return p.keep(trilu(x.value, p.random.chance(0.5), p.random.between(-3, 3)), x.exact);
  }
}
void block_step(RandomPool& p) {
  const PoolEntry x = of_rank(p, 4);
  if (p.random.chance(0.5))
    return p.keep(depth_to_space(x.value, 2, p.random.chance(0.5) ? "DCR" : "CRD"), x.exact);
  p.keep(space_to_depth(x.value, 2), x.exact);
}

DType index_type(RandomPool& p) { return p.random.chance(0.5) ? DType::i32 : DType::i64; }
std::string any_reduction(RandomPool& p) {
  constexpr const char* kReductions[] = {"none", "add", "mul", "max", "min"};
  return p.random.pick(kReductions);
}
int64_t indexable(RandomPool& p, Value x, int64_t axis) {
  const int64_t length = p.extent(x, axis);
  if (length == 0) fail(ErrorKind::unsupported, "nothing to index");
  return length;
}
void elements_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const int64_t axis = p.axis_of(x.value);
  Dims shape = x.value.shape();
  shape[static_cast<size_t>(axis)] = p.random.pick(p.dims);
  const Value indices = p.add_input(index_type(p), shape, Fill::index, indexable(p, x.value, axis));
  if (p.random.chance(0.5)) return p.keep(gather_elements(x.value, indices, axis), x.exact);
  p.keep(scatter_elements(x.value, indices, p.add_input(x.value.dtype(), shape), axis,
                          any_reduction(p), p.random.chance(0.3)),
         false);
}
void tuples_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  const Dims& s = x.value.shape();
  const int64_t batch = p.random.between(0, rank(x.value.type()) - 1),
                length = p.random.between(1, rank(x.value.type()) - batch);
  int64_t least = INT64_MAX;
  for (int64_t axis = batch; axis < batch + length; ++axis)
    least = std::min(least, indexable(p, x.value, axis));
  Dims shape(s.begin(), s.begin() + batch);
  shape.push_back(p.random.pick(p.dims));
  Dims blocks = shape;
  blocks.insert(blocks.end(), s.begin() + batch + length, s.end());
  shape.emplace_back(length);
  const Value indices = p.add_input(index_type(p), shape, Fill::index, least);
  if (p.random.chance(0.5)) return p.keep(gather_nd(x.value, indices, batch), x.exact);
  p.keep(scatter_nd(x.value, indices, p.add_input(x.value.dtype(), blocks), any_reduction(p), batch,
                    p.random.chance(0.3)),
         false);
}
void one_hot_step(RandomPool& p) {
  const int64_t depth = p.random.between(1, 9);
  const Value indices = p.add_input(index_type(p), {p.random.pick(p.dims), p.random.pick(p.dims)},
                                    Fill::index, depth + 2);
  p.keep(one_hot(indices, depth, DType::f32, p.random.between(-1, 2)), true);
}
void write_step(RandomPool& p) {
  const PoolEntry x = p.any_ranked();
  Dims block = x.value.shape();
  const int64_t axis = p.axis_of(x.value), length = indexable(p, x.value, axis),
                width = p.random.between(1, length);
  block[static_cast<size_t>(axis)] = width;
  Tensor starts(DType::i64, {rank(x.value.type())});
  starts.set_integer(axis, p.random.between(0, length - width));
  const Value update = p.add_input(x.value.dtype(), block);
  p.keep(write_slice(x.value, update, p.graph.constant(starts)), x.exact);
}

void resize_step(RandomPool& p) {
  const PoolEntry x = of_rank(p, p.random.between(3, 4));
  constexpr const char *kModes[] = {"linear", "cubic"},
                       *kCoordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                          "pytorch_half_pixel", "half_pixel_symmetric"};
  ResizeOptions options{.axes = {rank(x.value.type()) - 1}};
  if (p.random.chance(0.5)) options.axes.insert(options.axes.begin(), options.axes[0] - 1);
  Dims sizes;
  for (const int64_t axis : options.axes) sizes.emplace_back(2 * indexable(p, x.value, axis));
  if (p.random.chance(0.3)) {  // of other factors where an element begins is a matter of rounding
    options.coordinates = "asymmetric";
    options.rounding = "floor";
    return p.keep(resize(x.value, sizes, options), x.exact);
  }
  for (Dim& size : sizes) size = p.random.between(1, 11);
  options.mode = p.random.pick(kModes);
  options.coordinates = p.random.pick(kCoordinates);
  options.antialias = p.random.chance(0.3);
  options.exclude_outside = options.mode == "cubic" && p.random.chance(0.3);
  p.keep(resize(x.value, sizes, options), false);
}
void einsum_step(RandomPool& p) {
  const Value x = of_rank(p, 3).value;
  const Dims& s = x.shape();
  const Dim other = p.random.pick(p.dims);
  switch (p.random.between(0, 3)) {
    case 0:
      return p.keep(einsum("bij,bjk->bik", {x, p.add_input(x.dtype(), {s[0], s[2], other})}),
                    false);
    case 1:
      return p.keep(einsum("bij,kj->kbi", {x, p.add_input(x.dtype(), {other, s[2]})}), false);
    case 2:
      return p.keep(einsum("bij,bi->j", {x, p.add_input(x.dtype(), {s[0], s[1]})}), false);
    default:
      return p.keep(einsum("...j,j->...", {x, p.add_input(x.dtype(), {s[2]})}), false);
  }
}
void quantise_step(RandomPool& p) {
  const PoolEntry x = p.any_exact_float(1);
  const bool is_signed = p.random.chance(0.5);
  const Value scale = p.graph.constant(Tensor::scalar(x.value.dtype(), 0.25));
  const Value bytes = quantise(x.value, scale, {}, {.to = is_signed ? DType::i8 : DType::u8});
  p.keep(bytes, true);
  p.keep(dequantise(bytes, scale), true);
}
void integer_product_step(RandomPool& p) {
  const Dim m = p.random.pick(p.dims), k = p.random.pick(p.dims), n = p.random.pick(p.dims);
  const DType a = p.random.chance(0.5) ? DType::u8 : DType::i8,
              b = p.random.chance(0.5) ? DType::u8 : DType::i8;
  p.keep(matmul_integer(p.add_input(a, {m, k}), p.add_input(b, {k, n}), maybe_input(p, a, {}),
                        maybe_input(p, b, {n})),
         true);
}
void loss_step(RandomPool& p) {
  const Value x = of_rank(p, p.random.between(2, 3)).value;
  const int64_t axis = p.axis_of(x), classes = indexable(p, x, axis);
  Dims shape = x.shape();
  shape.erase(shape.begin() + axis);
  constexpr const char* kReductions[] = {"none", "mean", "sum"};
  ClassLossOptions options{p.random.pick(kReductions), axis};
  if (p.random.chance(0.3)) options.ignore_index = 0;
  const Value labels = p.add_input(index_type(p), shape, Fill::index, classes);
  const Value weights =
      maybe_input(p, x.dtype(), {x.shape()[static_cast<size_t>(axis)]}, Fill::positive);
  p.keep(softmax_cross_entropy(x, labels, weights, options), false);
}

void if_step(RandomPool& p) {
  const PoolEntry x = p.any_float();
  const Value condition = p.add_input(DType::boolean, {});
  const auto body = [&](Value (*function)(Value)) {
    Graph graph;
    graph.output("y", function(graph.input("x", x.value.type())));
    return graph;
  };
  p.keep(if_else(condition, {x.value}, body(neg), body(tanh))[0], false);
}
void loop_step(RandomPool& p) {
  const Value x = p.any_float(1).value;  // its rows are scanned
  const Dims row(x.shape().begin() + 1, x.shape().end());
  Graph body;
  body.input("iteration", i64({}));
  const Value carried = body.input("carried", {x.dtype(), row}),
              each = body.input("row", {x.dtype(), row});
  const Value next = tanh(carried + each);
  body.output("next", next);
  body.output("rows", next - each);
  for (const Value result :
       loop(squeeze(shape_of(x, 0, 1), {0}), {p.add_input(x.dtype(), row)}, std::move(body),
            {.scanned = {x}, .reverse = p.random.chance(0.5)}))
    p.keep(result, false);
}

}  // namespace

std::vector<RandomStep> random_layers() {
  return {conv_step,
          conv_step,
          conv_transpose_step,
          pool_step,
          pool_step,
          attention_step,
          attention_step,
          rope_step,
          recurrent_step,
          cumulative_step,
          load_step,
          load_step,
          load_step,
          load_step,
          arg_step,
          logic_step,
          channel_norm_step,
          pad_step,
          arrange_step,
          arrange_step,
          block_step,
          elements_step,
          tuples_step,
          one_hot_step,
          write_step,
          resize_step,
          einsum_step,
          quantise_step,
          integer_product_step,
          loss_step,
          if_step,
          loop_step};
}

}  // namespace rlx
