// attention(q, k, v, bias, mask, sink) = softmax(scale q . k^T + bias) . v per head over the keys
// that are seen, without the matrix of scores. A sink is one more score of a head, beside those of
// the keys: it takes weight and gives no value.

#include "rlx/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "rlx/codegen/elementwise.h"
#include "rlx/ir/extent_facts.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

Arrangement arrangement_of(const Dims& q, const Attrs& attrs) {
  if (q.size() == 3) return Arrangement::heads_packed;
  return attrs.get<std::string>("layout") == "bshd" ? Arrangement::heads_inside
                                                    : Arrangement::heads_first;
}

AttentionHeads heads_of(const Dims& x, Arrangement arrangement, const Dim& packed) {
  switch (arrangement) {
    case Arrangement::heads_first:
      return {x[0], x[1], x[2], x[3]};
    case Arrangement::heads_inside:
      return {x[0], x[2], x[1], x[3]};
    case Arrangement::heads_packed:
      break;
  }
  return {x[0], packed, x[1], floor_div(x[2], packed)};
}

}  // namespace

AttentionForm::AttentionForm(const Dims& q_shape, const Dims& k_shape, const Dims& v_shape,
                             const Attrs& attrs)
    : arrangement(arrangement_of(q_shape, attrs)) {
  const int64_t own = attrs.get<int64_t>("heads"), shared = attrs.get<int64_t>("kv_heads");
  q = heads_of(q_shape, arrangement, own);
  k = heads_of(k_shape, arrangement, shared == 0 ? own : shared);
  v = heads_of(v_shape, arrangement, shared == 0 ? own : shared);
}

namespace {

void check_packed(const InferSite& site) {
  const int64_t heads = site.attrs.get<int64_t>("heads"),
                kv_heads = site.attrs.get<int64_t>("kv_heads");
  require(heads > 0 && kv_heads >= 0, "attention: heads ", heads, " and kv_heads ", kv_heads,
          " must be positive");
  const int64_t shared = kv_heads == 0 ? heads : kv_heads;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t parts = i == 0 ? heads : shared;
    site.multiple_of(site.in(i).shape[2], parts,
                     text(site.in(i), " cannot be parted into ", parts, " heads"));
  }
}

void check_options(const Attrs& attrs) {
  const std::string &empty_row = attrs.get<std::string>("empty_row"),
                    &layout = attrs.get<std::string>("layout");
  require(empty_row == "zero" || empty_row == "nan", "attention: empty_row '", empty_row,
          "' is neither zero nor nan");
  require(layout == "bhsd" || layout == "bshd", "attention: layout '", layout,
          "' is neither bhsd nor bshd");
  require(attrs.get<double>("softcap") >= 0, "attention: softcap ", attrs.get<double>("softcap"),
          " is negative");
  require(attrs.get<int64_t>("window") >= -1, "attention: window ", attrs.get<int64_t>("window"),
          " is negative");
}

void check_broadcast(const InferSite& site, size_t i, const Dims& scores) {
  const TensorType& type = site.in(i);
  const char* name = i == 3 ? "bias" : "mask";
  const bool fits = type.dtype == DType::boolean || (i == 3 && is_float(type.dtype));
  require(fits && rank(type) <= 4, "attention: ", name, " is ", type, ", it needs ",
          i == 3 ? "floats or bools" : "bools", " that broadcast to ", scores);
  const ExtentFacts facts(type.shape, scores);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    const Dim &own = type.shape[d], &to = scores[d + 4 - type.shape.size()];
    if (!tells_limit(own, to) && facts(own) == to) continue;
    site.broadcasts_to(own, to, text(name, ' ', type, " does not broadcast to ", scores));
  }
}

void check_sink(const InferSite& site, const Dim& heads) {
  const TensorType& sink = site.in(5);
  require(is_float(sink.dtype) && rank(sink) == 1, "attention: sink is ", sink,
          ", it needs floats [H], one for each of ", heads, " heads of q");
  site.equal(sink.shape[0], heads, text("sink ", sink, " is not one number for each head of q"));
}

Types infer(const InferSite& site) {
  const TensorType &q = site.in(0), &k = site.in(1), &v = site.in(2);
  require(is_float(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype, "attention: q ", q, ", k ",
          k, " and v ", v, " need one float dtype");
  require((rank(q) == 3 || rank(q) == 4) && rank(k) == rank(q) && rank(v) == rank(q),
          "attention: q ", q, ", k ", k, " and v ", v,
          " need to be all [B, H, S, D], all [B, S, H, D] or all [B, S, H * D]");
  check_options(site.attrs);
  if (rank(q) == 3) check_packed(site);
  const AttentionForm form(q.shape, k.shape, v.shape, site.attrs);
  const auto equal = [&](const Dim& a, const Dim& b, const auto&... message) {
    if (!(a == b)) site.equal(a, b, text(message...));  // which takes longer than the rule
  };
  equal(form.q.batches, form.k.batches, "the batches of q ", q, " and k ", k, " differ");
  equal(form.q.batches, form.v.batches, "the batches of q ", q, " and v ", v, " differ");
  equal(form.q.size, form.k.size, "the head sizes of q ", q, " and k ", k, " differ");
  equal(form.k.heads, form.v.heads, "the heads of k ", k, " and v ", v, " differ");
  equal(form.k.length, form.v.length, "k ", k, " and v ", v, " differ in length");
  const Dim &heads = form.q.heads, &shared = form.k.heads;
  if (!(heads == shared) || !heads.is_number())
    site.multiple_of(heads, shared,
                     text(heads, " heads of q are no multiple of ", shared, " heads of k and v"));
  for (const size_t i : {size_t{3}, size_t{4}})
    if (site.has(i)) check_broadcast(site, i, form.scores());
  if (site.has(5)) check_sink(site, heads);
  return {{q.dtype, form.result()}};
}

Operand whole(const Tensor& x) { return {0, x.type(), Access::read}; }

void reference(const ReferenceSite& site) {
  const Tensor &q = site.in(0), &k = site.in(1), &v = site.in(2);
  const AttentionForm form(q.shape(), k.shape(), v.shape(), site.attrs);
  const int64_t queries = form.q.length.number(), keys = form.k.length.number(),
                size = form.q.size.number(), value_size = form.v.size.number(),
                heads = form.q.heads.number(), window = site.attrs.get<int64_t>("window");
  const double given = site.attrs.get<double>("scale"), softcap = site.attrs.get<double>("softcap");
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(size)) : given;
  const double empty = site.attrs.get<std::string>("empty_row") == "nan" ? NAN : 0;
  const auto strides = [&](const Tensor& x, int64_t of_size) {
    return concrete(form.strides(whole(x).layout, of_size));
  };
  const auto repeats = [&](size_t i) {
    return site.has(i) ? concrete(broadcast(whole(site.in(i)), form.scores()).layout.strides)
                       : Shape{0, 0, 0, 0};
  };
  const Shape q_strides = strides(q, size), k_strides = strides(k, size),
              v_strides = strides(v, value_size), y_strides = strides(site.out(), value_size),
              bias_strides = repeats(3), mask_strides = repeats(4);

  for (int64_t row = 0; row < form.q.batches.number() * heads * queries; ++row) {
    const int64_t query = row % queries, head = row / queries % heads,
                  batch = row / queries / heads;
    const int64_t kv_head = head / (heads / form.k.heads.number());
    const auto at = [&](const Shape& by, int64_t of_head, int64_t position) {
      return batch * by[0] + of_head * by[1] + position * by[2];
    };
    const int64_t position = query + keys - queries;
    const int64_t end = is_causal(site.attrs) ? std::clamp<int64_t>(position + 1, 0, keys) : keys;
    const int64_t begin =
        window >= 0 ? std::clamp<int64_t>(position - std::min(window, keys), 0, end) : 0;
    std::vector<double> scores;
    const double sink = site.has(5) ? site.in(5).at(head) : -INFINITY;
    double highest = sink;
    for (int64_t key = begin; key < end; ++key) {
      double s = 0;
      for (int64_t d = 0; d < size; ++d)
        s += q.at(at(q_strides, head, query) + d * q_strides[3]) *
             k.at(at(k_strides, kv_head, key) + d * k_strides[3]);
      s *= scale;
      if (softcap > 0) s = softcap * std::tanh(s / softcap);
      if (site.has(3)) {
        const double bias = site.in(3).at(at(bias_strides, head, query) + key * bias_strides[3]);
        s = site.in(3).dtype() != DType::boolean ? s + bias : bias != 0 ? s : -INFINITY;
      }
      if (site.has(4) && site.in(4).at(at(mask_strides, head, query) + key * mask_strides[3]) == 0)
        s = -INFINITY;
      scores.push_back(s);
      highest = s > highest || std::isnan(s) ? s : highest;
    }
    double total = sink == -INFINITY ? 0 : std::exp(sink - highest);
    for (double& s : scores) total += s = s == -INFINITY ? 0 : std::exp(s - highest);
    for (int64_t d = 0; d < value_size; ++d) {
      double sum = 0;
      for (int64_t key = begin; key < end; ++key)
        if (scores[size_t(key - begin)] != 0)
          sum += scores[size_t(key - begin)] * v.at(at(v_strides, kv_head, key) + d * v_strides[3]);
      site.out().set(at(y_strides, head, query) + d, highest == -INFINITY ? empty : sum / total);
    }
  }
}

enum Variant : int64_t { invocation_per_query = 0, workgroup_per_query = 1, split_keys = 2 };

// With one query per invocation, a workgroup reads each key and value once for all its queries and
// needs no barriers. That pays where there are many queries (fewer on a CPU) and the result of a
// query fits in registers. With one query and many keys (decoding) the keys are split, because a
// large device would otherwise be idle.
Variant choose_variant(const LowerSite& site, const AttentionForm& form) {
  const Dim &queries = form.q.length, &keys = form.k.length, &size = form.v.size;
  const auto in_registers = [&](int64_t most) {
    return size.is_number() && size.number() > 0 && size.number() <= most;
  };
  const bool software = site.traits.device_class == DeviceClass::software;
  const bool many = software ? !queries.is_number() || queries.number() >= 4
                             : queries.is_number() && queries.number() >= 64;
  const bool decoding = queries.is(1) && (!keys.is_number() || keys.number() >= 512);
  const Variant fitting = many && in_registers(software ? 256 : 128) ? invocation_per_query
                          : !software && decoding                    ? split_keys
                                                                     : workgroup_per_query;
  const auto wanted = static_cast<Variant>(site.choices.get("attention.variant", fitting));
  return wanted == invocation_per_query && !in_registers(256) ? workgroup_per_query : wanted;
}

// What bias and mask make of a score.
std::string bias_function(const LowerSite& site) {
  std::string body = "fn biased(s: f32, bias_at: u32, mask_at: u32) -> f32 {\n  var y = s;\n";
  if (site.has(3))
    body += site.in(3).dtype == DType::boolean
                ? "  y = select(-infinity(), y, load_bias(bias_at));\n"
                : "  y += load_bias(bias_at);\n";
  if (site.has(4)) body += "  y = select(-infinity(), y, load_mask(mask_at));\n";
  return body + "  return y;\n}";
}

// The score that a head begins with.
std::string sink_function(const LowerSite& site) {
  return text("fn sink_of(head: u32) -> f32 { return ",
              site.has(5) ? "load_sink(head)" : "-infinity()", "; }");
}

// What the kernels have in common; the result is not among the operands yet.
Dispatch common(const LowerSite& site, const AttentionForm& form, const Dim& splits) {
  const Operand &q = site.inputs[0], &k = site.inputs[1], &v = site.inputs[2];
  const double given = site.attrs().get<double>("scale");
  const double scale = given != 0 || !form.q.size.is_number() || form.q.size.is(0)
                           ? given
                           : 1 / std::sqrt(static_cast<double>(form.q.size.number()));
  constexpr int64_t kFarthest = 1 << 30;
  const int64_t window = site.attrs().get<int64_t>("window");
  Dispatch dispatch;
  dispatch.operands = {LowerSite::named(flat(q), "q", Access::read),
                       LowerSite::named(flat(k), "k", Access::read),
                       LowerSite::named(flat(v), "v", Access::read)};
  dispatch.prelude = {bias_function(site), sink_function(site)};
  dispatch.constants = {{"CAUSAL", is_causal(site.attrs())},
                        {"WINDOWED", window >= 0},
                        {"EMPTY_ROW_IS_NAN", site.attrs().get<std::string>("empty_row") == "nan"}};
  dispatch.params = {{"q_strides", form.strides(q.layout, form.q.size)},
                     {"k_strides", form.strides(k.layout, form.q.size)},
                     {"v_strides", form.strides(v.layout, form.v.size)},
                     {"y_strides", form.strides(site.results[0].layout, form.v.size)},
                     {"q_first", q.layout.offset},
                     {"k_first", k.layout.offset},
                     {"v_first", v.layout.offset},
                     {"batches", form.q.batches},
                     {"heads", form.q.heads},
                     {"kv_heads", form.k.heads},
                     {"queries", form.q.length},
                     {"keys", form.k.length},
                     {"size", form.q.size},
                     {"value_size", form.v.size},
                     {"window", Dim(std::clamp<int64_t>(window, 0, kFarthest))},
                     {"splits", splits},
                     {"scale", scale},
                     {"softcap", site.attrs().get<double>("softcap")}};
  for (const size_t i : {size_t{3}, size_t{4}}) {
    const std::string name = i == 3 ? "bias" : "mask";
    if (site.has(i))
      dispatch.operands.push_back(LowerSite::named(flat(site.inputs[i]), name, Access::read));
    dispatch.params.emplace_back(
        name + "_strides",
        site.has(i) ? broadcast(site.inputs[i], form.scores()).layout.strides : Dims{0, 0, 0, 0});
    dispatch.params.emplace_back(name + "_first",
                                 site.has(i) ? site.inputs[i].layout.offset : Dim(0));
  }
  if (site.has(5)) dispatch.operands.push_back(site.read("sink", 5));
  return dispatch;
}

// Every workgroup takes a part of a query's keys; a second step puts the parts together.
Steps lower_split(const LowerSite& site, const AttentionForm& form) {
  // Of no keys there is a part too: it has the sink.
  const Dim splits = max(min(ceil_div(form.k.length, 128), 32), 1);
  const Dim rows = form.q.batches * form.q.heads * form.q.length;
  const Operand sums = site.temporary("sums", f32({rows, splits, form.v.size})),
                totals = site.temporary("totals", f32({rows, splits, 2}));
  Dispatch parts = common(site, form, splits);
  parts.kernel = kernel("attention", {"numbers", "functions", "reduce", "attention",
                                      "attention_exp", "attention_part"});
  parts.operands.push_back(sums);
  parts.operands.push_back(totals);
  parts.workgroups = rows * splits * ceil_div(form.v.size, 256);
  Dispatch whole{
      .kernel = kernel("attention_combine", {"numbers", "functions", "attention_exp"}),
      .operands = {LowerSite::named(sums, "sums", Access::read),
                   LowerSite::named(totals, "totals", Access::read), site.write("y")},
      .constants = {parts.constants.back()},
      .params = {{"y_strides", form.strides(site.results[0].layout, form.v.size)},
                 {"rows", rows},
                 {"heads", form.q.heads},
                 {"queries", form.q.length},
                 {"value_size", form.v.size},
                 {"splits", splits}},
      .workgroups = ceil_div(rows * form.v.size, 64),
  };
  Steps steps;
  steps.add(std::move(parts));
  steps.add(std::move(whole));
  return steps;
}

Steps lower(const LowerSite& site) {
  const AttentionForm form(site.in(0).shape, site.in(1).shape, site.in(2).shape, site.attrs());
  const Dim all_heads = form.q.batches * form.q.heads;
  const Variant variant = choose_variant(site, form);
  if (variant == split_keys) return lower_split(site, form);
  Dispatch dispatch = common(site, form, 1);
  dispatch.operands.push_back(site.write("y"));
  if (variant == workgroup_per_query) {
    dispatch.kernel = kernel("attention", {"numbers", "functions", "reduce", "attention",
                                           "attention_exp", "attention_whole"});
    dispatch.workgroups = all_heads * form.q.length * ceil_div(form.v.size, 256);
    return dispatch;
  }
  const int64_t lanes = site.choices.get(
      "attention.lanes", site.traits.device_class == DeviceClass::software ? 8 : 64);
  dispatch.kernel =
      kernel("attention_rows", {"numbers", "functions", "attention", "attention_exp"});
  dispatch.constants.push_back({"WORKGROUP", lanes});
  dispatch.constants.push_back({"VALUE_SIZE", form.v.size.number()});
  dispatch.workgroups = all_heads * ceil_div(form.q.length, lanes);
  return dispatch;
}

}  // namespace

const OpDef& attention_op() {
  static const OpDef op{
      .name = "attention",
      .family = "attention",
      .inputs = {3, 6, {"q", "k", "v", "bias", "mask", "sink"}},
      .attrs = {{"heads", 1},
                {"kv_heads", 0},
                {"layout", "bhsd"},
                {"causal", false},
                {"window", -1},
                {"scale", 0.0},
                {"softcap", 0.0},
                {"empty_row", "zero"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = attention_gradient,
      .never_fails = true,
      .accuracy = {32},
      .variants = {{"attention.variant", 3}},
  };
  return op;
}

Value attention(Value q, Value k, Value v, Value bias, const AttentionOptions& options, Value mask,
                Value sink) {
  Values operands{q, k, v, bias};
  if (mask.present() || sink.present()) operands.push_back(mask);
  if (sink.present()) operands.push_back(sink);
  return q.apply(attention_op(), operands,
                 {{"heads", options.heads},
                  {"kv_heads", options.kv_heads},
                  {"layout", options.layout},
                  {"causal", options.causal},
                  {"window", options.window},
                  {"scale", options.scale},
                  {"softcap", options.softcap},
                  {"empty_row", options.empty_row}});
}

Value packed_attention(Value qkv, Value bias, AttentionOptions options, Value mask) {
  require(rank(qkv.type()) == 5 && qkv.shape()[2].is(3), "packed_attention: qkv is ", qkv.type(),
          ", it needs to be [B, S, 3, H, D]");
  const auto part = [&](int64_t i) { return squeeze(slice(qkv, {i}, {i + 1}, {2}), {2}); };
  options.layout = "bshd";
  return attention(part(0), part(1), part(2), bias, options, mask);
}

}  // namespace rlx
