// attention(q, k, v, bias) = softmax(scale q . k^T + bias) . v per head, without the matrix of
// scores.

#include <algorithm>
#include <cmath>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/strided.h"

namespace rlx {
namespace {

// The extents, of [B, H, S, D] operands or of [B, S, H * D] ones.
struct Form {
  bool packed_heads;
  Dim batches, heads, kv_heads, queries, keys, size, value_size;

  Form(const Dims& q, const Dims& k, const Dims& v, const Attrs& attrs)
      : packed_heads(q.size() == 3) {
    batches = q[0];
    if (packed_heads) {
      const int64_t own = attrs.get<int64_t>("heads"), shared = attrs.get<int64_t>("kv_heads");
      heads = own;
      kv_heads = shared == 0 ? own : shared;
      queries = q[1];
      keys = k[1];
      size = floor_div(q[2], heads);
      value_size = floor_div(v[2], kv_heads);
    } else {
      heads = q[1];
      kv_heads = k[1];
      queries = q[2];
      keys = k[2];
      size = q[3];
      value_size = v[3];
    }
  }
  Dims scores() const { return {batches, heads, queries, keys}; }
};

void infer_packed(const InferSite& site) {
  const TensorType &q = site.in(0), &k = site.in(1), &v = site.in(2);
  const int64_t heads = site.attrs.get<int64_t>("heads"),
                kv_heads = site.attrs.get<int64_t>("kv_heads");
  require(heads > 0 && kv_heads >= 0, "attention: heads ", heads, " and kv_heads ", kv_heads,
          " must be positive");
  const int64_t shared = kv_heads == 0 ? heads : kv_heads;
  const auto parted = [](const TensorType& type, int64_t parts) {
    require(!type.shape[2].is_number() || type.shape[2].number() % parts == 0, "attention: ", type,
            " cannot be parted into ", parts, " heads");
  };
  parted(q, heads);
  parted(k, shared);
  parted(v, shared);
  site.equal(floor_div(q.shape[2], heads), floor_div(k.shape[2], shared),
             text("the head sizes of q ", q, " and k ", k, " differ"));
  site.equal(k.shape[1], v.shape[1], text("k ", k, " and v ", v, " differ in length"));
}

Types infer(const InferSite& site) {
  const TensorType &q = site.in(0), &k = site.in(1), &v = site.in(2);
  require(is_float(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype, "attention: q ", q, ", k ",
          k, " and v ", v, " need one float dtype");
  require((rank(q) == 3 || rank(q) == 4) && rank(k) == rank(q) && rank(v) == rank(q),
          "attention: q ", q, ", k ", k, " and v ", v,
          " need to be all [B, H, S, D] or all [B, S, H * D]");
  const std::string& empty_row = site.attrs.get<std::string>("empty_row");
  require(empty_row == "zero" || empty_row == "nan", "attention: empty_row '", empty_row,
          "' is neither zero nor nan");
  require(site.attrs.get<double>("softcap") >= 0, "attention: softcap ",
          site.attrs.get<double>("softcap"), " is negative");
  site.equal(q.shape[0], k.shape[0], text("the batches of q ", q, " and k ", k, " differ"));
  site.equal(q.shape[0], v.shape[0], text("the batches of q ", q, " and v ", v, " differ"));
  if (rank(q) == 3) {
    infer_packed(site);
  } else {
    site.equal(q.shape[3], k.shape[3], text("the head sizes of q ", q, " and k ", k, " differ"));
    site.equal(k.shape[1], v.shape[1], text("the heads of k ", k, " and v ", v, " differ"));
    site.equal(k.shape[2], v.shape[2], text("k ", k, " and v ", v, " differ in length"));
  }
  const Form form(q.shape, k.shape, v.shape, site.attrs);
  if (form.heads.is_number() && form.kv_heads.is_number())
    require(form.kv_heads.number() > 0 ? form.heads.number() % form.kv_heads.number() == 0
                                       : form.heads.is(0),
            "attention: ", form.heads, " heads of q are no multiple of ", form.kv_heads,
            " heads of k and v");
  if (site.has(3)) {
    const TensorType& bias = site.in(3);
    const Dims scores = form.scores();
    require((is_float(bias.dtype) || bias.dtype == DType::boolean) && rank(bias) <= 4,
            "attention: bias is ", bias, ", it needs floats or bools that broadcast to ", scores);
    for (size_t d = 0; d < bias.shape.size(); ++d)
      if (!bias.shape[d].is(1))
        site.equal(bias.shape[d], scores[d + 4 - bias.shape.size()],
                   text("bias ", bias, " does not broadcast to ", scores));
  }
  Dims shape = {form.batches, form.heads, form.queries, form.value_size};
  if (form.packed_heads) shape = {form.batches, form.queries, form.heads * form.value_size};
  return {{q.dtype, shape}};
}

// Strides by batch, head, position and element.
Dims head_strides(const Layout& layout, const Dim& size) {
  const Dims& s = layout.strides;
  return s.size() == 4 ? s : Dims{s[0], size * s[2], s[1], s[2]};
}

Dims bias_strides(const Operand& bias) {
  Dims strides;
  const size_t extra = 4 - bias.shape.size();
  for (size_t d = 0; d < 4; ++d) {
    const bool repeated = d < extra || bias.shape[d - extra].is(1);
    strides.push_back(repeated ? Dim(0) : bias.layout.strides[d - extra]);
  }
  return strides;
}

Operand whole(const Tensor& x) {
  return {"", 0, x.dtype(), Access::read, x.shape(), Layout::row_major(x.shape())};
}

void reference(const ReferenceSite& site) {
  const Tensor &q = site.in(0), &k = site.in(1), &v = site.in(2);
  const Form form(q.shape(), k.shape(), v.shape(), site.attrs);
  const int64_t queries = form.queries.number(), keys = form.keys.number(),
                size = form.size.number();
  const int64_t value_size = form.value_size.number(), heads = form.heads.number();
  const double given = site.attrs.get<double>("scale"), softcap = site.attrs.get<double>("softcap");
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(size)) : given;
  const double empty = site.attrs.get<std::string>("empty_row") == "nan" ? NAN : 0;
  const Shape q_strides = concrete(head_strides(whole(q).layout, size)),
              k_strides = concrete(head_strides(whole(k).layout, size)),
              v_strides = concrete(head_strides(whole(v).layout, value_size)),
              y_strides = concrete(head_strides(whole(site.out()).layout, value_size)),
              b_strides =
                  site.has(3) ? concrete(bias_strides(whole(site.in(3)))) : Shape{0, 0, 0, 0};

  for (int64_t row = 0; row < form.batches.number() * heads * queries; ++row) {
    const int64_t query = row % queries, head = row / queries % heads,
                  batch = row / queries / heads;
    const int64_t kv_head = head / (heads / form.kv_heads.number());
    const auto at = [&](const Shape& strides, int64_t of_head, int64_t position) {
      return batch * strides[0] + of_head * strides[1] + position * strides[2];
    };
    const int64_t end = site.attrs.get<bool>("causal")
                            ? std::clamp<int64_t>(query + keys - queries + 1, 0, keys)
                            : keys;
    std::vector<double> scores;
    double highest = -INFINITY, total = 0;
    for (int64_t key = 0; key < end; ++key) {
      double s = 0;
      for (int64_t d = 0; d < size; ++d)
        s += q.at(at(q_strides, head, query) + d * q_strides[3]) *
             k.at(at(k_strides, kv_head, key) + d * k_strides[3]);
      s *= scale;
      if (softcap > 0) s = softcap * std::tanh(s / softcap);
      if (site.has(3)) {
        const double bias = site.in(3).at(at(b_strides, head, query) + key * b_strides[3]);
        s = site.in(3).dtype() != DType::boolean ? s + bias : bias != 0 ? s : -INFINITY;
      }
      scores.push_back(s);
      highest = s > highest || std::isnan(s) ? s : highest;
    }
    for (double& s : scores) total += s = s == -INFINITY ? 0 : std::exp(s - highest);
    for (int64_t d = 0; d < value_size; ++d) {
      double sum = 0;
      for (int64_t key = 0; key < end; ++key)
        if (scores[size_t(key)] != 0)
          sum += scores[size_t(key)] * v.at(at(v_strides, kv_head, key) + d * v_strides[3]);
      site.out().set(at(y_strides, head, query) + d, highest == -INFINITY ? empty : sum / total);
    }
  }
}

enum Variant : int64_t { invocation_per_query = 0, workgroup_per_query = 1 };

// Lanes that need not wait for each other suit a device that is a CPU, and want many queries.
Variant choose_variant(const LowerSite& site, const Form& form) {
  const bool can = form.value_size.is_number() && form.value_size.number() > 0 &&
                   form.value_size.number() <= 256;
  const bool many = !form.queries.is_number() || form.queries.number() >= 4;
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t wanted = site.choices.get(
      "attention.variant", software && many ? invocation_per_query : workgroup_per_query);
  return can && wanted == invocation_per_query ? invocation_per_query : workgroup_per_query;
}

std::string bias_function(const LowerSite& site) {
  if (!site.has(3)) return "fn biased(s: f32, at: u32) -> f32 { return s; }";
  if (site.in(3).dtype == DType::boolean)
    return "fn biased(s: f32, at: u32) -> f32 { return select(-infinity(), s, load_bias(at)); }";
  return "fn biased(s: f32, at: u32) -> f32 { return s + load_bias(at); }";
}

Steps lower(const LowerSite& site) {
  const Form form(site.in(0).shape, site.in(1).shape, site.in(2).shape, site.attrs());
  const Operand &q = site.inputs[0], &k = site.inputs[1], &v = site.inputs[2];
  const double given = site.attrs().get<double>("scale");
  const double scale = given != 0 || !form.size.is_number() || form.size.is(0)
                           ? given
                           : 1 / std::sqrt(static_cast<double>(form.size.number()));
  Dispatch dispatch;
  dispatch.operands = {LowerSite::named(flat(q), "q", Access::read),
                       LowerSite::named(flat(k), "k", Access::read),
                       LowerSite::named(flat(v), "v", Access::read)};
  if (site.has(3))
    dispatch.operands.push_back(LowerSite::named(flat(site.inputs[3]), "bias", Access::read));
  dispatch.operands.push_back(site.write("y"));
  dispatch.prelude = {bias_function(site)};
  dispatch.constants = {{"CAUSAL", site.attrs().get<bool>("causal")},
                        {"EMPTY_ROW_IS_NAN", site.attrs().get<std::string>("empty_row") == "nan"}};
  dispatch.params = {
      {"q_strides", head_strides(q.layout, form.size)},
      {"k_strides", head_strides(k.layout, form.size)},
      {"v_strides", head_strides(v.layout, form.value_size)},
      {"y_strides", head_strides(site.results[0].layout, form.value_size)},
      {"bias_strides", site.has(3) ? bias_strides(site.inputs[3]) : Dims{0, 0, 0, 0}},
      {"q_first", q.layout.offset},
      {"k_first", k.layout.offset},
      {"v_first", v.layout.offset},
      {"bias_first", site.has(3) ? site.inputs[3].layout.offset : Dim(0)},
      {"batches", form.batches},
      {"heads", form.heads},
      {"kv_heads", form.kv_heads},
      {"queries", form.queries},
      {"keys", form.keys},
      {"size", form.size},
      {"value_size", form.value_size},
      {"scale", scale},
      {"softcap", site.attrs().get<double>("softcap")}};
  const Dim all_heads = form.batches * form.heads;
  if (choose_variant(site, form) == workgroup_per_query) {
    dispatch.kernel = kernel("attention", {"numbers", "functions", "reduce", "attention"});
    dispatch.workgroups = all_heads * form.queries * ceil_div(form.value_size, 256);
    return dispatch;
  }
  const int64_t lanes = site.choices.get(
      "attention.lanes", site.traits.device_class == DeviceClass::software ? 8 : 64);
  dispatch.kernel = kernel("attention_rows", {"numbers", "functions", "attention"});
  dispatch.constants.push_back({"WORKGROUP", lanes});
  dispatch.constants.push_back({"VALUE_SIZE", form.value_size.number()});
  dispatch.workgroups = all_heads * ceil_div(form.queries, lanes);
  return dispatch;
}

Value constant_like(Value like, const Tensor& tensor) {
  auto& nodes = like.graph->nodes;
  nodes.push_back({.op = static_op(constant_op()),
                   .attrs = {{"value", tensor}},
                   .types = {tensor.type()},
                   .name = text("constant_", nodes.size()),
                   .host_values = {std::nullopt}});
  return {like.graph, static_cast<int>(nodes.size()) - 1};
}

Tensor causal_mask(int64_t queries, int64_t keys) {
  Tensor mask(DType::boolean, {queries, keys});
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) mask.set(i * keys + j, j <= i + keys - queries);
  return mask;
}

// The probabilities are computed again, this time as a matrix, heads that share keys in a dim of
// their own.
Gradients gradient(const GradientSite& site) {
  const Value q = site.in(0);
  const bool has_bias = site.inputs.size() > 3 && site.in(3).present();
  const Form form(q.shape(), site.in(1).shape(), site.in(2).shape(), site.attrs());
  const Dim sharing = floor_div(form.heads, form.kv_heads);
  const auto grouped = [&](Value x, const Dim& groups,
                           const Dim& size) {  // [B, H_kv, groups, S, size]
    if (form.packed_heads)
      x = transpose(reshape(x, Dims{form.batches, x.shape()[1], form.kv_heads * groups, size}),
                    {0, 2, 1, 3});
    return reshape(x, Dims{form.batches, form.kv_heads, groups, x.shape()[2], size});
  };
  const auto ungrouped = [&](Value dx, Value like) {
    if (!form.packed_heads) return reshape(dx, like.shape());
    const Dims& s = dx.shape();
    return reshape(transpose(reshape(dx, Dims{s[0], s[1] * s[2], s[3], s[4]}), {0, 2, 1, 3}),
                   like.shape());
  };
  const Value q5 = grouped(q, sharing, form.size), k5 = grouped(site.in(1), 1, form.size),
              v5 = grouped(site.in(2), 1, form.value_size),
              dy5 = grouped(site.dy(), sharing, form.value_size);
  const Dims scores = form.scores();
  const Dims grouped_scores = {form.batches, form.kv_heads, sharing, form.queries, form.keys};

  double scale = site.attrs().get<double>("scale");
  if (scale == 0) {
    require(form.size.is_number(),
            "attention: the gradient needs a head size that is a number, got ", form.size);
    scale = 1 / std::sqrt(static_cast<double>(form.size.number()));
  }
  const double softcap = site.attrs().get<double>("softcap");
  Value s = reshape(matmul(q5, k5, false, true), scores) * scalar(q, scale);
  Value slope;
  if (softcap > 0) {
    const Value t = tanh(s * scalar(q, 1 / softcap));
    slope = scalar(q, 1) - t * t;
    s = t * scalar(q, softcap);
  }
  const Value lowest = scalar(q, -INFINITY);
  const bool is_mask = has_bias && site.in(3).dtype() == DType::boolean;
  if (is_mask)
    s = where(site.in(3), s, lowest);
  else if (has_bias)
    s = s + cast(site.in(3), q.dtype());
  if (site.attrs().get<bool>("causal")) {
    if (!form.queries.is_number() || !form.keys.is_number())
      fail(ErrorKind::unsupported,
           "attention: the gradient of causal attention needs numbers for S_q and S_k, got ",
           form.queries, " and ", form.keys);
    s = where(constant_like(q, causal_mask(form.queries.number(), form.keys.number())), s, lowest);
  }
  Value p = softmax(s, -1);
  if (site.attrs().get<std::string>("empty_row") == "zero" &&
      (has_bias || site.attrs().get<bool>("causal")))
    p = where(equal(reduce_max(s, {3}, true), lowest), scalar(q, 0), p);

  const Value dp = reshape(matmul(dy5, v5, false, true), scores);
  Value ds = p * (dp - sum(p * dp, {3}, true));
  Gradients gradients(site.inputs.size());
  if (has_bias && !is_mask) gradients[3] = cast(unbroadcast(ds, site.in(3)), site.in(3).dtype());
  if (slope.present()) ds = ds * slope;
  const Value ds5 = reshape(ds * scalar(q, scale), grouped_scores), p5 = reshape(p, grouped_scores);
  gradients[0] = ungrouped(matmul(ds5, k5), q);
  gradients[1] = ungrouped(sum(matmul(ds5, q5, true), {2}, true), site.in(1));
  gradients[2] = ungrouped(sum(matmul(p5, dy5, true), {2}, true), site.in(2));
  return gradients;
}

}  // namespace

const OpDef& attention_op() {
  static const OpDef op{
      .name = "attention",
      .family = "attention",
      .inputs = {3, 4, {"q", "k", "v", "bias"}},
      .attrs = {{"heads", 1},
                {"kv_heads", 0},
                {"causal", false},
                {"scale", 0.0},
                {"softcap", 0.0},
                {"empty_row", "zero"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .accuracy = {32},
      .variants = {{"attention.variant", 2}},
  };
  return op;
}

Value attention(Value q, Value k, Value v, Value bias, const AttentionOptions& options) {
  return q.apply(attention_op(), {q, k, v, bias},
                 {{"heads", options.heads},
                  {"kv_heads", options.kv_heads},
                  {"causal", options.causal},
                  {"scale", options.scale},
                  {"softcap", options.softcap},
                  {"empty_row", options.empty_row}});
}

}  // namespace rlx
