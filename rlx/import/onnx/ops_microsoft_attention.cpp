// Attention as com.microsoft has it.

#include "rlx/import/onnx/heads.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/ops/ops_scatter.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

// ---- Masks of integers ----

Value column(Value x) { return unsqueeze(x, {1, 2, 3}); }

// A mask tells of each batch how many keys count, or from where to where; or of each key, or of
// each query and key, whether it counts. As bools that broadcast to [B, H, S_q, S_k].
Value kept_keys(Site site, Value mask, const Dim& batches, const Dim& keys) {
  if (!is_integer(mask.dtype())) site.fail_node("the mask is ", mask.type(), ", not of integers");
  const Value zero = site.scalar(mask.dtype(), 0);
  switch (rank(mask.type())) {
    case 1: {
      const Value key = counting(mask, keys, mask.dtype());
      const Dim& extent = mask.shape()[0];
      if (extent == batches) return less(key, column(mask));
      if (!(extent == batches + batches))
        site.fail_node("a mask of ", extent, " numbers for ", batches, " batches is not there");
      const Values parts = split(mask, {batches, batches}, 0);
      return logical_and(less(key, column(parts[0])), greater_equal(key, column(parts[1])));
    }
    case 2:
      return greater(unsqueeze(mask, {1, 2}), zero);
    case 3:
      return greater(unsqueeze(mask, {1}), zero);
    default:
      site.fail_node("a mask ", mask.type(), " is not there");
  }
}

struct Parts {
  Value q, k, v;  // all [B, S, H, D]
};

// A mask lowers scores by a finite number, as onnxruntime does: where all keys are masked, they
// still differ.
Value attend(Site site, const Parts& parts, Value mask, Value added) {
  constexpr double kFilter = -10000;
  const Value& q = parts.q;
  Value bias = added;
  if (mask) {
    const Value kept = kept_keys(site, mask, q.shape()[0], parts.k.shape()[1]);
    const Value lowered = as_bias(site, kept, q.dtype(), site.real("mask_filter_value", kFilter));
    bias = added ? lowered + added : lowered;
  }
  AttentionOptions options;
  options.layout = "bshd";
  options.causal = site.flag("unidirectional");
  options.scale = site.real("scale", 0);
  return join_heads(attention(q, parts.k, parts.v, bias, options));
}

void require_rank(Site site, size_t i, int64_t wanted) {
  if (rank(site.in(i).type()) != wanted)
    site.fail_node("input ", i, " is ", site.in(i).type(), ", it needs ", wanted, " dims");
}
void refuse(Site site, size_t i, const char* what) {
  if (site.has(i)) site.fail_node("input ", i, " (", what, ") is not there");
}

// ---- Attention: the projections are part of it ----

Items attention_operator(Site site) {
  refuse(site, 6, "past_sequence_length");
  if (site.flag("do_rotary")) site.fail_node("do_rotary is not there");
  const Value x = site.in(0), w = site.in(1);
  const int64_t heads = head_count(site, "num_heads");
  if (rank(w.type()) != 2 || !w.shape()[1].is_number())
    site.fail_node("weights are ", w.type(), ", not [input, q + k + v]");
  int64_t columns = w.shape()[1].number();
  const Ints widths = site.ints("qkv_hidden_sizes", {columns / 3, columns / 3, columns / 3});
  for (const int64_t width : widths) columns = width < 0 || width > columns ? -1 : columns - width;
  if (widths.size() != 3 || columns != 0)
    site.fail_node("qkv_hidden_sizes do not make the columns of weights ", w.type());
  const Qkv made = qkv_linear(x, w, site.maybe(2), widths[0], widths[1], widths[2]);
  Parts parts{part_heads(site, made.q, heads), part_heads(site, made.k, heads),
              part_heads(site, made.v, heads)};
  if (site.has(4)) {
    require_rank(site, 4, 5);
    const auto before = [&](int64_t i) {
      return swap_heads(squeeze(slice(site.in(4), {i}, {i + 1}, {0}), {0}));
    };
    parts.k = concat({before(0), parts.k}, 1);
    parts.v = concat({before(1), parts.v}, 1);
  }
  Items results{attend(site, parts, site.maybe(3), site.maybe(5))};
  if (site.wants(1))
    results.emplace_back(
        concat({unsqueeze(swap_heads(parts.k), {0}), unsqueeze(swap_heads(parts.v), {0})}, 0));
  return results;
}

// ---- MultiHeadAttention ----

// [B, S, H, parts, D], the part at a place.
Value packed_part(Value x, int64_t i) { return squeeze(slice(x, {i}, {i + 1}, {3}), {3}); }

// q, k and v however they are given, with their part of the bias, which is not for keys and values
// of another attention, [B, H, S, D].
Parts multi_head_parts(Site site, int64_t heads) {
  const Value query = site.in(0);
  const bool all_packed = rank(query.type()) == 5, pair_packed = site.has(1) && !site.has(2);
  if (pair_packed && rank(site.in(1).type()) != 5)
    site.fail_node("a key without a value needs to be [B, S, H, 2, D], it is ", site.in(1).type());
  if (!all_packed && !site.has(1)) site.fail_node("a query ", query.type(), " needs a key");
  Dim used(0);
  const auto biased = [&](Value x) {
    if (!site.has(3)) return x;
    const Dim width = x.shape()[2] * x.shape()[3];
    if (!width.is_number()) site.fail_node("a bias for ", x.type(), " is not there");
    const int64_t from = used.number();
    used = used + width;
    const Value part = slice(site.in(3), {from}, {used.number()}, {0});
    return x + reshape(part, {x.shape()[2], x.shape()[3]});
  };
  const auto given = [&](size_t i) {
    const Value x = site.in(i);
    return rank(x.type()) == 4 ? swap_heads(x) : biased(part_heads(site, x, heads));
  };
  Parts parts;
  parts.q = biased(all_packed ? packed_part(query, 0) : part_heads(site, query, heads));
  if (all_packed || pair_packed) {
    const Value from = all_packed ? query : site.in(1);
    parts.k = biased(packed_part(from, all_packed ? 1 : 0));
    parts.v = biased(packed_part(from, all_packed ? 2 : 1));
  } else {
    parts.k = given(1);
    parts.v = given(2);
  }
  return parts;
}

Items multi_head_attention(Site site) {
  refuse(site, 8, "past_sequence_length");
  refuse(site, 9, "cache_indirection");
  Parts parts = multi_head_parts(site, head_count(site, "num_heads"));
  if (site.has(6)) parts.k = concat({swap_heads(site.in(6)), parts.k}, 1);
  if (site.has(7)) parts.v = concat({swap_heads(site.in(7)), parts.v}, 1);
  return {attend(site, parts, site.maybe(4), site.maybe(5)), swap_heads(parts.k),
          swap_heads(parts.v)};
}

// ---- GroupQueryAttention: causal, with a cache that may be longer than what it holds ----

// What is known of the cache. Batches may have seen different numbers of keys.
struct Cache {
  bool exists = false;
  bool full = false;  // the past is full in every batch: keys are just appended
  Value seen = {};    // of each batch, i32[B]
  Value places = {};  // 0, 1, .. of the keys after this run, i32
};

constexpr size_t kPastKey = 3, kPastValue = 4, kLastKeys = 5, kTotal = 6;

Value extent(Value x, int64_t axis) {
  return cast(squeeze(shape_of(x, axis, axis + 1), {0}), DType::i32);
}

Cache cache_of(Site site, Value q) {
  Cache cache;
  if (site.has(kPastKey)) require_rank(site, kPastKey, 4);
  cache.exists = site.has(kPastKey) && !site.in(kPastKey).shape()[2].is(0);
  if (!cache.exists) return cache;
  const Value past = site.in(kPastKey), given = cast(site.in(kTotal), DType::i32);
  const Value total = given.shape().empty() ? given : reshape(given, Dims{});
  const Dim &batches = q.shape()[0], &queries = q.shape()[1], &capacity = past.shape()[2];
  const auto& known = total.producer().host_values[static_cast<size_t>(total.result)];
  // The longest of the batches has seen total - queries keys; a single one is the longest.
  cache.full = batches.is(1) && known && known->elements[0] == capacity + queries;
  if (cache.full) return cache;
  const auto number = [&](double v) { return site.scalar(DType::i32, v); };
  cache.places = known ? counting(q, max(capacity, known->elements[0]), DType::i32)
                       : range(number(0), maximum(total, extent(past, 2)), number(1));
  // A run with as many queries as keys is a prompt, whatever the cache's room.
  const Value last = reshape(cast(site.in(kLastKeys), DType::i32), {batches});
  const Value seen = last + number(1) - extent(q, 1);
  cache.seen = where(equal(total, extent(q, 1)), number(0), seen);
  return cache;
}

// The new keys [B, S, H, D] behind those that each batch has seen, of a past [B, H, P, D].
Value extended(Site site, const Cache& cache, Value past, Value added) {
  const Value all = concat({swap_heads(past), added}, 1);
  if (cache.full) return all;
  const auto number = [&](double v) { return site.scalar(DType::i32, v); };
  const Value beyond = cache.places - unsqueeze(cache.seen, {1});
  const Value is_new =
      logical_and(greater_equal(beyond, number(0)), less(beyond, extent(added, 1)));
  const Value from =
      where(is_new, extent(past, 2) + beyond, minimum(cache.places, extent(all, 1) - number(1)));
  return gather_nd(all, unsqueeze(from, {-1}), 1);
}

Parts group_parts(Site site, int64_t heads, int64_t kv_heads) {
  const Value query = site.in(0);
  if (site.has(1))
    return {part_heads(site, query, heads), part_heads(site, site.in(1), kv_heads),
            part_heads(site, site.in(2), kv_heads)};
  const Value all = part_heads(site, query, heads + 2 * kv_heads);
  const Values parts = split(all, {Dim(heads), Dim(kv_heads), Dim(kv_heads)}, 2);
  return {parts[0], parts[1], parts[2]};
}

// Which keys each query sees, [B, 1, S, T] or [1, 1, S, T].
Value seen_keys(Site site, Value positions, Value places, int64_t window) {
  const Value query = unsqueeze(positions, {-1}), seen = less_equal(places, query);
  const Value first = query - site.scalar(DType::i32, static_cast<double>(window));
  const Value near = window > 0 ? logical_and(seen, greater(places, first)) : seen;
  return unsqueeze(near, rank(near.type()) == 3 ? Ints{1} : Ints{0, 1});
}

// The score that each head has beside those of its keys; a smooth softmax has one of 0.
Value sink_of(Site site, DType dtype, int64_t heads) {
  if (site.has(11)) return site.in(11);
  return site.flag("smooth_softmax") ? site.constant(Tensor(dtype, {heads})) : Value{};
}

Items group_query_attention(Site site) {
  if (site.flag("qk_output")) site.fail_node("qk_output is not there");
  const int64_t heads = head_count(site, "num_heads"), kv_heads = head_count(site, "kv_num_heads");
  Parts parts = group_parts(site, heads, kv_heads);
  const Cache cache = cache_of(site, parts.q);

  // Where the queries are: [S], or [B, S].
  Value positions = counting(parts.q, parts.q.shape()[1], DType::i32);
  if (cache.full)
    positions = positions + extent(site.in(kPastKey), 2);
  else if (cache.exists)
    positions = positions + unsqueeze(cache.seen, {1});
  if (site.flag("do_rotary")) {
    const Rotation rotation{site.in(7), site.in(8), site.has(9) ? site.in(9) : positions,
                            site.flag("rotary_interleaved")};
    parts.q = rotate(parts.q, rotation);
    parts.k = rotate(parts.k, rotation);
  }
  if (cache.exists) {
    parts.k = extended(site, cache, site.in(kPastKey), parts.k);
    parts.v = extended(site, cache, site.in(kPastValue), parts.v);
  }

  AttentionOptions options;
  options.layout = "bshd";
  options.scale = site.real("scale", 0);
  options.softcap = site.real("softcap", 0);
  const int64_t window = site.integer("local_window_size", -1);
  options.causal = !cache.places;
  options.window = options.causal && window > 0 ? window - 1 : -1;
  const Value places =
      cache.places ? cache.places : counting(parts.q, parts.k.shape()[1], DType::i32);
  const Value mask = options.causal ? Value{} : seen_keys(site, positions, places, window);
  const Value sink = sink_of(site, parts.q.dtype(), heads);
  const Value y = attention(parts.q, parts.k, parts.v, site.maybe(10), options, mask, sink);
  return {join_heads(y), swap_heads(parts.k), swap_heads(parts.v)};
}

// ---- RotaryEmbedding ----

Items rotary_operator(Site site) {
  if (site.real("scale", 1) != 1) site.fail_node("a scale is not there");
  const Value x = site.in(0);
  if (rank(x.type()) != 4) require_rank(site, 0, 3);
  const Value given = cast(site.in(1), DType::i32);
  // One number is where the first of the positions is.
  const Dim& length = x.shape()[static_cast<size_t>(rank(x.type()) == 4 ? 2 : 1)];
  const Value positions =
      rank(given.type()) == 2 ? given : given + counting(given, length, DType::i32);
  return {rotary_embedding(site, x, {site.in(2), site.in(3), positions})};
}

}  // namespace

std::span<const Operator> microsoft_attention_operators() {
  static constexpr Operator kOperators[] = {
      {"Attention", attention_operator},
      {"GroupQueryAttention", group_query_attention},
      {"MultiHeadAttention", multi_head_attention},
      {"RotaryEmbedding", rotary_operator},
  };
  return kOperators;
}

}  // namespace rlx::onnx
