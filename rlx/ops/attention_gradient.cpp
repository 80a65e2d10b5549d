// The gradient of attention: the probabilities are computed again, a block of queries at a time, so
// that no matrix of all scores exists.

#include <algorithm>
#include <cmath>

#include "rlx/ops/attention.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

// What makes scores of products; the same for every block.
struct Scoring {
  double scale = 1, softcap = 0;
  bool causal = false, empty_is_zero = false;
  int64_t window = -1;
};

// Operands of some queries and the keys they may see. Heads that share keys lie in a dim of their
// own: [B, H_kv, sharing, S, size]. Bias and mask broadcast to [B, H, S_q, S_k]; a sink is [H].
struct Block {
  Value q, k, v, dy, bias, mask, sink;
};
struct BlockGradients {
  Value dq, dk, dv, dbias, dsink;
};

// Of scores [B, H, S_q, S_k], and [B, H, S_q, 1] of the sink, where there is one.
struct Probabilities {
  Value of_keys, of_sink;
};
Probabilities probabilities(Value scores, Value sink) {
  if (!sink.present()) return {softmax(scores, -1), {}};
  Dims column = scores.shape();
  const Dim keys = column[3];
  column[3] = 1;
  const Value score = reshape(cast(sink, scores.dtype()), Dims{1, column[1], 1, 1});
  const Values parts = split(softmax(concat({scores, expand(score, column)}, 3), -1), {keys, 1}, 3);
  return {parts[0], parts[1]};
}

BlockGradients gradients_of(const Block& block, const Scoring& scoring) {
  const Value q = block.q;
  const Dims& shape = q.shape();
  const Dims scores = {shape[0], shape[1] * shape[2], shape[3], block.k.shape()[3]};
  const Dims grouped = {shape[0], shape[1], shape[2], shape[3], block.k.shape()[3]};
  const Value lowest = scalar(q, -INFINITY);
  Value s = reshape(matmul(q, block.k, false, true), scores) * scalar(q, scoring.scale);
  Value slope;
  if (scoring.softcap > 0) {
    const Value t = tanh(s * scalar(q, 1 / scoring.softcap));
    slope = scalar(q, 1) - t * t;
    s = t * scalar(q, scoring.softcap);
  }
  const bool has_bias = block.bias.present() && block.bias.dtype() != DType::boolean;
  if (has_bias) s = s + cast(block.bias, q.dtype());
  if (block.bias.present() && !has_bias) s = where(block.bias, s, lowest);
  if (block.mask.present()) s = where(block.mask, s, lowest);
  if (scoring.causal) s = where(causal_mask(s, scoring.window), s, lowest);
  auto [p, sunk] = probabilities(s, block.sink);
  if (scoring.empty_is_zero && (block.bias.present() || block.mask.present() || scoring.causal)) {
    const Value sees_none = equal(reduce_max(s, {3}, true), lowest);
    p = where(sees_none, scalar(q, 0), p);
    if (sunk.present()) sunk = where(sees_none, scalar(q, 0), sunk);
  }

  const Value dp = reshape(matmul(block.dy, block.v, false, true), scores);
  const Value mean = sum(p * dp, {3}, true);
  Value ds = p * (dp - mean);
  BlockGradients result;
  if (sunk.present()) result.dsink = cast(-sum(sunk * mean, {0, 2, 3}), block.sink.dtype());
  if (has_bias) result.dbias = cast(unbroadcast(ds, block.bias), block.bias.dtype());
  if (slope.present()) ds = ds * slope;
  const Value ds5 = reshape(ds * scalar(q, scoring.scale), grouped), p5 = reshape(p, grouped);
  result.dq = matmul(ds5, block.k);
  result.dk = sum(matmul(ds5, q, true), {2}, true);
  result.dv = sum(matmul(p5, block.dy, true), {2}, true);
  return result;
}

struct Range {
  int64_t first, end;
};

// Blocks of queries, where it is known which keys each may see: causal queries are the last
// positions, and of a block they are the last of the keys before its end.
std::vector<Range> blocks_of(const AttentionForm& form, bool causal) {
  constexpr int64_t kFewest = 128, kMostBlocks = 32;
  const Dim &queries = form.q.length, &keys = form.k.length;
  if (!queries.is_number()) return {};
  if (causal && !(keys.is_number() && keys.number() >= queries.number())) return {};
  const int64_t count = queries.number();
  const int64_t size = std::max(kFewest, (count + kMostBlocks - 1) / kMostBlocks);
  if (count <= size) return {};
  std::vector<Range> blocks;
  for (int64_t first = 0; first < count; first += size)
    blocks.push_back({first, std::min(first + size, count)});
  return blocks;
}

bool covers(const Range& range, const Dim& extent) {
  return range.first == 0 && extent.is(range.end);
}

Value part_of(Value x, const Range& range, int64_t axis) {
  if (!x.present() || covers(range, x.shape()[size_t(axis)])) return x;
  return slice(x, {range.first}, {range.end}, {axis});
}

// A tensor of zeros with `part` at its range of the axis.
Value put_back(Value part, const Range& range, const Dim& extent, int64_t axis) {
  if (covers(range, extent)) return part;
  return pad(part, {range.first, extent.number() - range.end}, "constant", 0, {axis});
}

Value added(Value total, Value more) { return total.present() ? total + more : more; }

// Bias or mask along the queries (axis -2) or keys (axis -1), unless it is the same for all.
bool varies(Value x, int64_t from_end) {
  const Dims& shape = x.shape();
  const int64_t axis = rank(x.type()) - from_end;
  return axis >= 0 && !shape[size_t(axis)].is(1);
}

BlockGradients by_blocks(const Block& whole, const Scoring& scoring, const AttentionForm& form,
                         const std::vector<Range>& blocks) {
  const int64_t later = scoring.causal ? form.k.length.number() - form.q.length.number() : 0;
  BlockGradients all;
  Values dqs, dbiases;
  for (const Range& queries : blocks) {
    Range keys{0, 0};
    if (scoring.causal) {
      keys.end = queries.end + later;
      if (scoring.window >= 0)
        keys.first = std::max<int64_t>(queries.first + later - scoring.window, 0);
    }
    const auto of_keys = [&](Value x, int64_t axis) {
      return scoring.causal ? part_of(x, keys, axis) : x;
    };
    const auto of_scores = [&](Value x) {
      if (x.present() && varies(x, 2)) x = part_of(x, queries, rank(x.type()) - 2);
      if (x.present() && varies(x, 1)) x = of_keys(x, rank(x.type()) - 1);
      return x;
    };
    const BlockGradients part = gradients_of(
        {part_of(whole.q, queries, 3), of_keys(whole.k, 3), of_keys(whole.v, 3),
         part_of(whole.dy, queries, 3), of_scores(whole.bias), of_scores(whole.mask), whole.sink},
        scoring);
    const auto among_keys = [&](Value x, int64_t axis) {
      return scoring.causal ? put_back(x, keys, form.k.length, axis) : x;
    };
    dqs.push_back(part.dq);
    all.dk = added(all.dk, among_keys(part.dk, 3));
    all.dv = added(all.dv, among_keys(part.dv, 3));
    if (part.dsink.present()) all.dsink = added(all.dsink, part.dsink);
    if (!part.dbias.present()) continue;
    const bool by_key = varies(whole.bias, 1);
    const Value dbias = by_key ? among_keys(part.dbias, rank(whole.bias.type()) - 1) : part.dbias;
    if (varies(whole.bias, 2))
      dbiases.push_back(dbias);
    else
      all.dbias = added(all.dbias, dbias);
  }
  all.dq = concat(dqs, 3);
  if (!dbiases.empty()) all.dbias = concat(dbiases, rank(whole.bias.type()) - 2);
  return all;
}

}  // namespace

Gradients attention_gradient(const GradientSite& site) {
  const Value q = site.in(0);
  const AttentionForm form(q.shape(), site.in(1).shape(), site.in(2).shape(), site.attrs());
  const Dim sharing = floor_div(form.q.heads, form.k.heads);
  const auto grouped = [&](Value x, const Dim& groups, const AttentionHeads& of) {
    if (form.arrangement != Arrangement::heads_first)
      x = transpose(reshape(x, Dims{of.batches, of.length, of.heads, of.size}), {0, 2, 1, 3});
    return reshape(x, Dims{of.batches, form.k.heads, groups, of.length, of.size});
  };
  const auto ungrouped = [&](Value dx, Value like) {
    if (form.arrangement == Arrangement::heads_first) return reshape(dx, like.shape());
    const Dims& s = dx.shape();
    return reshape(transpose(reshape(dx, Dims{s[0], s[1] * s[2], s[3], s[4]}), {0, 2, 1, 3}),
                   like.shape());
  };
  // An axis of bias and mask has extent 1 or that of the scores. Where only a run knows which, it
  // is expanded, because blocks slice it.
  const auto given = [&](size_t i) {
    if (site.inputs.size() <= i || !site.in(i).present()) return Value{};
    Dims shape = site.in(i).shape();
    for (size_t d = 0; d < shape.size(); ++d)
      if (!shape[d].is(1)) shape[d] = form.scores()[d + 4 - shape.size()];
    return shape == site.in(i).shape() ? site.in(i) : expand(site.in(i), shape);
  };
  const AttentionHeads results{form.q.batches, form.q.heads, form.q.length, form.v.size};
  const Block whole{grouped(q, sharing, form.q),
                    grouped(site.in(1), 1, form.k),
                    grouped(site.in(2), 1, form.v),
                    grouped(site.dy(), sharing, results),
                    given(3),
                    given(4),
                    site.inputs.size() > 5 ? site.in(5) : Value{}};
  Scoring scoring{site.attrs().get<double>("scale"), site.attrs().get<double>("softcap"),
                  is_causal(site.attrs()), site.attrs().get<std::string>("empty_row") == "zero",
                  site.attrs().get<int64_t>("window")};
  if (scoring.scale == 0) {
    require(form.q.size.is_number(),
            "attention: the gradient needs a head size that is a number, got ", form.q.size);
    scoring.scale = 1 / std::sqrt(static_cast<double>(form.q.size.number()));
  }
  const std::vector<Range> blocks = blocks_of(form, scoring.causal);
  const BlockGradients all =
      blocks.empty() ? gradients_of(whole, scoring) : by_blocks(whole, scoring, form, blocks);
  Gradients gradients(site.inputs.size());
  gradients[0] = ungrouped(all.dq, q);
  gradients[1] = ungrouped(all.dk, site.in(1));
  gradients[2] = ungrouped(all.dv, site.in(2));
  if (all.dbias.present()) gradients[3] = unbroadcast(all.dbias, site.in(3));
  if (all.dsink.present()) gradients[5] = all.dsink;
  return gradients;
}

}  // namespace rlx
