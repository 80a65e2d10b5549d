// group_norm(x, gamma, beta, groups): x [B, C, ...], its channels in groups; each group of each
// sample has its mean taken off and is divided by its deviation, then scaled per channel. 0 groups:
// each channel is one, which is instance_norm.

#include "rlx/ops/channels.h"
#include "rlx/ops/norm.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

constexpr const char* kNames[] = {"x", "gamma", "beta"};

// The extents of x seen as [batch, groups, channels of a group, positions].
struct Groups {
  Dim batch, groups, channels, positions;
  Groups(const Dims& shape, const Attrs& attrs)
      : batch(shape[0]), positions(rlx::positions(shape)) {
    const int64_t given = attrs.get<int64_t>("groups");
    groups = given == 0 ? shape[1] : Dim(given);
    channels = given == 0 ? Dim(1) : floor_div(shape[1], groups);
  }
};

Types infer(const InferSite& site) {
  require_channels(site, kNames);
  const TensorType& x = site.in(0);
  const int64_t groups = site.attrs.get<int64_t>("groups");
  require(groups >= 0, "group_norm: groups ", groups, " is negative");
  if (groups > 0)
    site.multiple_of(
        x.shape[1], groups,
        text(x.shape[1], " channels of x ", x, " cannot be parted into ", groups, " groups"));
  return {x};
}

void reference(const ReferenceSite& site) {
  const Groups in(Dims(site.in(0).shape()), site.attrs);
  const int64_t groups = in.groups.number(), channels = in.channels.number(),
                positions = in.positions.number();
  norm_reference(site, in.batch.number() * groups, channels * positions,
                 [&](int64_t row, int64_t i) { return row % groups * channels + i / positions; });
}

Steps lower(const LowerSite& site) {
  const Groups in(site.in(0).shape, site.attrs());
  Dispatch dispatch =
      norm_dispatch(site, "layer_norm", {in.batch * in.groups, in.channels * in.positions},
                    "row % params.groups * params.channels + i / params.positions");
  dispatch.params.emplace_back("groups", in.groups);
  dispatch.params.emplace_back("channels", in.channels);
  dispatch.params.emplace_back("positions", in.positions);
  return dispatch;
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), dy = site.dy();
  const Value gamma = site.inputs.size() > 1 ? site.in(1) : Value{};
  const Value beta = site.inputs.size() > 2 ? site.in(2) : Value{};
  const Groups in(x.shape(), site.attrs());
  const Dims rows{in.batch, in.groups, in.channels * in.positions};
  const Value g = gamma ? dy * per_channel(gamma, x) : dy;
  const NormGradient norm =
      norm_gradient(reshape(x, rows), reshape(g, rows), {2}, site.attrs().get<double>("epsilon"));
  Gradients gradients(site.inputs.size());
  gradients[0] = reshape(norm.dx, x.shape());
  if (gamma) gradients[1] = channel_sum(dy * reshape(norm.normal, x.shape()));
  if (beta) gradients[2] = channel_sum(dy);
  return gradients;
}

}  // namespace

const OpDef& group_norm_op() {
  static const OpDef op{
      .name = "group_norm",
      .family = "normalisation",
      .inputs = {1, 3, {"x", "gamma", "beta"}},
      .attrs = {{"groups", 0}, {"epsilon", 1e-5}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16},
      .variants = {row_variants()},
      .onnx = "GroupNormalization",
  };
  return op;
}

Value group_norm(Value x, Value gamma, Value beta, int64_t groups, double epsilon) {
  require(groups > 0, "group_norm: groups ", groups, " must be positive");
  return x.apply(group_norm_op(), {x, gamma, beta}, {{"groups", groups}, {"epsilon", epsilon}});
}
Value instance_norm(Value x, Value gamma, Value beta, double epsilon) {
  return x.apply(group_norm_op(), {x, gamma, beta}, {{"groups", 0}, {"epsilon", epsilon}});
}

}  // namespace rlx
