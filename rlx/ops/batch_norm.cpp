// batch_norm(x, gamma, beta, mean, variance): x [B, C, ...] normalised with statistics that are
// given per channel; batch_norm_training takes those of the batch.

#include <cmath>

#include "rlx/ops/channels.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

constexpr const char* kNames[] = {"x", "gamma", "beta", "mean", "variance"};

Types infer(const InferSite& site) {
  require(site.has(3) && site.has(4), "batch_norm: needs mean and variance");
  require_channels(site, kNames);
  return {site.in(0)};
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const int64_t channels = x.shape()[1], after = positions(Dims(x.shape())).number();
  const double epsilon = site.attrs.get<double>("epsilon");
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t c = i / after % channels;
    const double scale = site.has(1) ? site.in(1).at(c) : 1,
                 shift = site.has(2) ? site.in(2).at(c) : 0;
    const double inverse = 1 / std::sqrt(site.in(4).at(c) + epsilon);
    site.out().set(i, (x.at(i) - site.in(3).at(c)) * inverse * scale + shift);
  }
}

Steps lower(const LowerSite& site) {
  const Dims& shape = site.in(0).shape;
  Dispatch dispatch{
      .kernel = kernel("batch_norm"),
      .operands = {},
      .params = {{"count", count(shape)},
                 {"channels", shape[1]},
                 {"positions", positions(shape)},
                 {"epsilon", site.attrs().get<double>("epsilon")}},
      .prelude = {text("fn scale(c: u32) -> f32 { return ", site.has(1) ? "load_gamma(c)" : "1.0",
                       "; }"),
                  text("fn shift(c: u32) -> f32 { return ", site.has(2) ? "load_beta(c)" : "0.0",
                       "; }")},
      .workgroups = ceil_div(count(shape), 64),
  };
  for (size_t i = 0; i < 5; ++i)
    if (site.has(i)) dispatch.operands.push_back(site.read(kNames[i], i));
  dispatch.operands.push_back(site.write("y"));
  return dispatch;
}

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), gamma = site.in(1), beta = site.in(2), dy = site.dy();
  const Value inverse = rsqrt(site.in(4) + scalar(x, site.attrs().get<double>("epsilon")));
  const Value g = gamma ? dy * per_channel(gamma, x) : dy;
  const Value dx = g * per_channel(inverse, x);
  const Value centred = x - per_channel(site.in(3), x);
  Gradients gradients(5);
  gradients[0] = dx;
  if (gamma) gradients[1] = channel_sum(dy * centred) * inverse;
  if (beta) gradients[2] = channel_sum(dy);
  gradients[3] = -channel_sum(dx);
  gradients[4] = scalar(x, -0.5) * channel_sum(dx * centred) * inverse * inverse;
  return gradients;
}

}  // namespace

const OpDef& batch_norm_op() {
  static const OpDef op{
      .name = "batch_norm",
      .family = "normalisation",
      .inputs = {1, 5, {"x", "gamma", "beta", "mean", "variance"}},
      .attrs = {{"epsilon", 1e-5}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .accuracy = {16, 1e-6},
      .onnx = "BatchNormalization",
  };
  return op;
}

Value batch_norm(Value x, Value gamma, Value beta, Value mean, Value variance, double epsilon) {
  return x.apply(batch_norm_op(), {x, gamma, beta, mean, variance}, {{"epsilon", epsilon}});
}

BatchNorm batch_norm_training(Value x, Value gamma, Value beta, Value running_mean,
                              Value running_variance, double epsilon, double momentum) {
  require(x.shape().size() >= 2, "batch_norm_training: x is ", x.type(),
          ", it needs [batch, channels, ...]");
  const Ints axes = other_axes(x);
  const Value mean = rlx::mean(x, axes);
  const Value variance = mean_square(x - per_channel(mean, x), axes);  // in two passes
  const auto moved = [&](Value running, Value batch) {
    return running * scalar(x, momentum) + batch * scalar(x, 1 - momentum);
  };
  return {batch_norm(x, gamma, beta, mean, variance, epsilon), mean, variance,
          moved(running_mean, mean), moved(running_variance, variance)};
}

}  // namespace rlx
