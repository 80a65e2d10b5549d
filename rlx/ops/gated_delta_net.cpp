// gated_delta_net: linear attention whose state forgets by a gate and is corrected towards the
// values: S = exp(g) * S, d = (v - S^T k) * beta, S = S + k d^T, o = S^T q * scale, for each head.

#include "rlx/ops/gated_delta_net.h"

#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_sequence.h"

namespace rlx {

double delta_scale(const Attrs& attrs, int64_t keys) {
  const double scale = attrs.get<double>("scale");
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(keys, 1)));
}

namespace {

Types infer(const InferSite& site) {
  const TensorType &q = site.in(kDeltaQ), &k = site.in(kDeltaK), &v = site.in(kDeltaV);
  require(is_float(q.dtype) && rank(q) == 4, "gated_delta_net: q is ", q,
          ", it needs floats [batches, steps, heads, keys]");
  require(q.shape[3].is_number(), "gated_delta_net: q is ", q, ", its keys need to be a number");
  require(is_float(k.dtype) && rank(k) == 4, "gated_delta_net: k is ", k,
          ", it needs floats like q ", q);
  require(is_float(v.dtype) && rank(v) == 4, "gated_delta_net: v is ", v,
          ", it needs floats [batches, steps, heads, values]");
  for (size_t d = 0; d < 4; ++d)
    site.equal(k.shape[d], q.shape[d], text("k ", k, " is not like q ", q));
  for (size_t d = 0; d < 3; ++d)
    site.equal(v.shape[d], q.shape[d], text("v ", v, " does not fit q ", q));
  for (const size_t i : {kDeltaG, kDeltaBeta}) {
    const TensorType& gate = site.in(i);
    const char* name = i == kDeltaG ? "g" : "beta";
    require(is_float(gate.dtype) && rank(gate) == 3, "gated_delta_net: ", name, " is ", gate,
            ", it needs floats [batches, steps, heads]");
    for (size_t d = 0; d < 3; ++d)
      site.equal(gate.shape[d], q.shape[d], text(name, " ", gate, " does not fit q ", q));
  }
  const DType wide = bytes_of(v.dtype) < 4 ? DType::f32 : v.dtype;
  const Dims state{q.shape[0], q.shape[2], q.shape[3], v.shape[3]};
  if (site.has(kDeltaState)) {
    const TensorType& given = site.in(kDeltaState);
    require(given.dtype == wide && rank(given) == 4, "gated_delta_net: the state is ", given,
            ", it needs to be ", wide, "[batches, heads, keys, values]");
    for (size_t d = 0; d < 4; ++d)
      site.equal(given.shape[d], state[d],
                 text("the state ", given, " does not fit q ", q, " and v ", v));
  }
  return {v, {wide, state}};
}

void reference(const ReferenceSite& site) {
  const Tensor &q = site.in(kDeltaQ), &k = site.in(kDeltaK), &v = site.in(kDeltaV),
               &g = site.in(kDeltaG), &beta = site.in(kDeltaBeta);
  const int64_t batches = q.shape()[0], steps = q.shape()[1], heads = q.shape()[2],
                keys = q.shape()[3], values = v.shape()[3];
  const double scale = delta_scale(site.attrs, keys);
  std::vector<double> state(static_cast<size_t>(keys));  // of one column
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t column = 0; column < values; ++column) {
        const int64_t first = (batch * heads + head) * keys * values + column;
        for (int64_t n = 0; n < keys; ++n)
          state[size_t(n)] =
              site.has(kDeltaState) ? site.in(kDeltaState).at(first + n * values) : 0;
        for (int64_t t = 0; t < steps; ++t) {
          const int64_t at = (batch * steps + t) * heads + head;
          const double decay = std::exp(g.at(at));
          double known = 0, o = 0;
          for (int64_t n = 0; n < keys; ++n) {
            state[size_t(n)] *= decay;
            known += state[size_t(n)] * k.at(at * keys + n);
          }
          const double d = (v.at(at * values + column) - known) * beta.at(at);
          for (int64_t n = 0; n < keys; ++n) {
            state[size_t(n)] += k.at(at * keys + n) * d;
            o += state[size_t(n)] * q.at(at * keys + n);
          }
          site.out().set(at * values + column, o * scale);
        }
        for (int64_t n = 0; n < keys; ++n) site.out(1).set(first + n * values, state[size_t(n)]);
      }
}

// A single step has no products with others; its kernel is that of a chunk of one.
Steps lower(const LowerSite& site) {
  const Dims &q = site.in(kDeltaQ).shape, &v = site.in(kDeltaV).shape;
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t lanes = software ? 32 : 64;
  const bool single = site.choices.get("gated_delta_net.variant", q[1].is(1) ? 0 : 1) == 0;
  Dispatch dispatch{
      .kernel = kernel("gated_delta_net", {"numbers", "functions"}),
      .operands = {site.read("q", kDeltaQ), site.read("k", kDeltaK), site.read("v", kDeltaV),
                   site.read("g", kDeltaG), site.read("beta", kDeltaBeta), site.update("next", 1),
                   site.write("y")},
      .constants = {{"WORKGROUP", lanes}, {"CHUNK", single ? 1 : kDeltaChunk}},
      .params = {{"batches", q[0]},
                 {"steps", q[1]},
                 {"heads", q[2]},
                 {"keys", q[3]},
                 {"values", v[3]},
                 {"scale", delta_scale(site.attrs(), q[3].number())}},
      .workgroups = q[0] * q[2] * ceil_div(v[3], lanes),
  };
  if (site.has(kDeltaState)) dispatch.operands.push_back(site.read("state", kDeltaState));
  dispatch.prelude = {text("fn first_state(i: u32) -> f32 { return ",
                           site.has(kDeltaState) ? "load_state(i)" : "0.0", "; }")};
  return dispatch;
}

}  // namespace

const OpDef& gated_delta_net_op() {
  static const OpDef op{
      .name = "gated_delta_net",
      .family = "sequence layers",
      .inputs = {5, 6, {"q", "k", "v", "g", "beta", "state"}},
      .results = {2, 2, {"o", "next_state"}},
      .attrs = {{"scale", 0.0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gated_delta_net_gradient,
      .never_fails = true,
      .accuracy = {16},
      .variants = {{"gated_delta_net.variant", 2}},
  };
  return op;
}

Values gated_delta_net(Value q, Value k, Value v, Value g, Value beta,
                       const GatedDeltaNetOptions& options) {
  const auto for_each_head = [&](Value x) {
    const Dim &own = x.shape()[2], &heads = v.shape()[2];
    if (own == heads || !own.is_number() || !heads.is_number()) return x;
    require(own.number() > 0 && heads.number() % own.number() == 0,
            "gated_delta_net: the heads of v ", v.type(), " are no multiple of those of ",
            x.type());
    const int64_t times = heads.number() / own.number();
    const Dims &s = x.shape(), repeated{s[0], s[1], own, times, s[3]};
    return reshape(expand(unsqueeze(x, {3}), repeated), {s[0], s[1], heads, s[3]});
  };
  if (rank(q.type()) == 4 && rank(k.type()) == 4 && rank(v.type()) == 4) {
    q = for_each_head(q);
    k = for_each_head(k);
  }
  Values operands{q, k, v, g, beta};
  if (options.state.present()) operands.push_back(options.state);
  const Value o = q.apply(gated_delta_net_op(), operands, {{"scale", options.scale}});
  return {o, o.of(1)};
}

}  // namespace rlx
