// Losses: what is one element's, as rows of the elementwise table, and the functions that reduce
// them.

#include <cmath>

#include "rlx/ops/cross_entropy.h"
#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loss.h"

namespace rlx {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace)

Value reduced(std::string_view op, Value losses, const std::string& reduction) {
  require(reduction == "none" || reduction == "mean" || reduction == "sum", op,
          ": there is no reduction '", reduction, "'; it takes none, mean, sum");
  if (reduction == "none") return losses;
  return reduction == "mean" ? mean(losses) : sum(losses);
}

// log(sum(exp(x))), the largest taken out so that nothing overflows.
Value log_sum_exp(Value x, int64_t axis) {
  const Value largest = stop_gradient(reduce_max(x, {axis}, true));
  const Value total = log(sum(exp(x - largest), {axis}, true)) + largest;
  return squeeze(total, {axis});
}

// The losses of rows labelled with integers, and how much each counts.
Value class_loss(std::string_view op, bool logits, Value x, Value labels, Value weights,
                 const ClassLossOptions& options) {
  require(is_integer(labels.dtype()), op, ": labels must be integers, got ", labels.type());
  Value ignored, shares;
  if (options.ignore_index) {
    const Value index = scalar(labels, static_cast<double>(*options.ignore_index));
    ignored = equal(labels, index);
    labels = where(ignored, scalar(labels, 0), labels);
  }
  if (weights) {
    require(weights.dtype() == x.dtype() && weights.shape().size() == 1, op, ": weights are ",
            weights.type(), ", they need to be one ", x.dtype(), " for each class");
    shares = gather(weights, labels);
  } else if (ignored) {
    shares = expand(scalar(x, 1), labels.shape());
  }
  if (ignored) shares = where(ignored, scalar(x, 0), shares);
  Value losses = cross_entropy(x, labels, options.axis, logits);
  if (shares) losses = losses * shares;
  if (ignored) losses = where(ignored, scalar(x, 0), losses);  // whatever is in those rows
  if (!shares || options.reduction != "mean") return reduced(op, losses, options.reduction);
  return sum(losses) / sum(shares);
}

}  // namespace

std::vector<OpDef> rows::loss_rows() {
  return {
      // -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), without a cancellation.
      op<kFloats>(
          {.name = "binary_cross_entropy",
           .wgsl = "x * (select(0.0, 1.0, x > 0.0) - y) + log1p_f32(exp_f32(-abs(x)))",
           .gradient = [](Site s) -> Gradients {
             const Value x = s.in(0), y = s.in(1);
             return {unbroadcast(s.dy() * (sigmoid(x) - y), x), unbroadcast(-s.dy() * x, y)};
           },
           .includes = {"functions"},
           .ulps = 16,
           .absolute_error = 0x1p-21},
          [](auto x, auto y) {
            return x * ((x > 0 ? 1 : 0) - y) + std::log1p(std::exp(-std::fabs(x)));
          }),
      // Half the square up to delta, and from there on the tangent.
      op<kFloats>({.name = "huber_loss",
                   .wgsl = "select(delta * (abs(x) - 0.5 * delta), 0.5 * x * x, abs(x) <= delta)",
                   .gradient = [](Site s) -> Gradients {
                     const double delta = s.attrs().get<double>("delta");
                     return {s.dy() * clip(s.in(0), -delta, delta)};
                   },
                   .ulps = 4,
                   .params = {{"delta", 1.0}}},
                  [](auto x, Params p) {
                    const double size = std::fabs(x);
                    return size <= p[0] ? 0.5 * x * x : p[0] * (size - 0.5 * p[0]);
                  }),
  };
}

Value softmax_cross_entropy(Value logits, Value labels, Value weights,
                            const ClassLossOptions& options) {
  constexpr const char* kName = "softmax_cross_entropy";
  if (!is_float(labels.dtype())) return class_loss(kName, true, logits, labels, weights, options);
  require(!weights && !options.ignore_index, kName,
          ": labels that are probabilities take neither weights nor an index to ignore");
  const Ints axis{options.axis};
  const Value loss =
      log_sum_exp(logits, options.axis) * sum(labels, axis) - sum(labels * logits, axis);
  return reduced(kName, loss, options.reduction);
}

Value nll_loss(Value log_probabilities, Value labels, Value weights,
               const ClassLossOptions& options) {
  return class_loss("nll_loss", false, log_probabilities, labels, weights, options);
}

Value binary_cross_entropy_with_logits(Value logits, Value labels, const std::string& reduction) {
  return reduced("binary_cross_entropy_with_logits",
                 apply("binary_cross_entropy", {logits, labels}), reduction);
}

Value mse(Value x, Value y, const std::string& reduction) {
  const Value difference = x - y;
  return reduced("mse", difference * difference, reduction);
}

Value huber(Value x, Value y, double delta, const std::string& reduction) {
  return reduced("huber", apply("huber_loss", {x - y}, {{"delta", delta}}), reduction);
}

}  // namespace rlx
