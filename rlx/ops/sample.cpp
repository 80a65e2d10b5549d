// sample(logits, seed, step): a class for each row of the last axis, drawn with probability
// softmax(logits / temperature) among the top_k likeliest, of those the fewest that hold top_p of
// the probability, and of those the ones with at least min_p of the largest. Of equals the lower
// index is the likelier. The draw is the inverse of the distribution, in the order of indices, at
// the uniform number that Philox has for the key `seed` at the counter (row, step). Temperature 0
// takes the first of the largest. NaN is never drawn.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_random.h"
#include "rlx/ops/philox.h"

namespace rlx {

const OpDef& sample_op();

namespace {

struct Settings {
  double temperature, top_p, min_p;
  int64_t top_k;

  explicit Settings(const Attrs& attrs)
      : temperature(attrs.get<double>("temperature")),
        top_p(attrs.get<double>("top_p")),
        min_p(attrs.get<double>("min_p")),
        top_k(attrs.get<int64_t>("top_k")) {}
  bool greedy() const { return temperature == 0; }
};

Types infer(const InferSite& site) {
  const TensorType &logits = site.in(0), &step = site.in(2);
  const std::string what = text("needs rows of float logits, got ", logits);
  require(is_float(logits.dtype) && rank(logits) > 0, "sample: ", what);
  site.at_most(1, logits.shape.back(), what);
  require_seed("sample", site.in(1));
  require(is_integer(step.dtype) && count(step.shape).is(1),
          "sample: step must be one integer, got ", step);
  const Settings settings(site.attrs);
  require(settings.temperature >= 0, "sample: temperature ", settings.temperature, " is below 0");
  require(settings.top_k >= 0, "sample: top_k ", settings.top_k, " is below 0");
  for (const char* name : {"top_p", "min_p"}) {
    const double share = site.attrs.get<double>(name);
    require(share >= 0 && share <= 1, "sample: ", name, ' ', share, " is not in [0, 1]");
  }
  return {i64({logits.shape.begin(), logits.shape.end() - 1})};
}

// ---- Reference ----

std::vector<double> weights_of(const std::vector<double>& row, double temperature) {
  double highest = -INFINITY;
  for (const double x : row) highest = x > highest ? x : highest;
  std::vector<double> weights;
  for (const double x : row)
    weights.push_back(std::isnan(x) ? 0 : x == highest ? 1 : std::exp((x - highest) / temperature));
  return weights;
}

// Zeroes what is not to be drawn.
void keep_likeliest(const std::vector<double>& row, std::vector<double>& weights,
                    const Settings& settings) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) { return std::isnan(row[i]) ? -INFINITY : row[i]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) > key(b); });
  size_t keep = order.size();
  if (settings.greedy()) keep = 1;
  if (settings.top_k > 0) keep = std::min(keep, static_cast<size_t>(settings.top_k));
  double total = 0, mass = 0;
  for (size_t n = 0; n < keep; ++n) total += weights[order[n]];
  for (size_t n = 0; n < order.size(); ++n) {
    const bool enough = n > 0 && settings.top_p < 1 && mass >= settings.top_p * total;
    double& weight = weights[order[n]];
    mass += weight;
    if (n >= keep || enough || weight < settings.min_p) weight = 0;
  }
}

int64_t drawn(const std::vector<double>& weights, double uniform) {
  const double target = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  int64_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = static_cast<int64_t>(i);
    sum += weights[i];
    if (sum > target) break;
  }
  return last;
}

void reference(const ReferenceSite& site) {
  const Tensor& logits = site.in(0);
  const Settings settings(site.attrs);
  const int64_t length = logits.shape().back();
  const auto step = static_cast<uint32_t>(site.in(2).integer_at(0));
  for (int64_t r = 0; r < site.out().count(); ++r) {
    std::vector<double> row;
    for (int64_t i = 0; i < length; ++i) row.push_back(logits.at(r * length + i));
    std::vector<double> weights = weights_of(row, settings.greedy() ? 1 : settings.temperature);
    keep_likeliest(row, weights, settings);
    const PhiloxCounter words = philox({static_cast<uint32_t>(r), step, 0, 0}, key_of(site.in(1)));
    site.out().set_integer(r, drawn(weights, unit_uniform(words[0])));
  }
}

// A workgroup to a row.
Steps lower(const LowerSite& site) {
  const Settings settings(site.attrs());
  const Dim length = site.in(0).shape.back();
  const Dim all = settings.top_k > 0 ? min(length, settings.top_k) : length;
  return Dispatch{
      .kernel = kernel("sample", {"numbers", "functions", "reduce", "philox"}),
      .operands = {site.read("x", 0), site.read("seed", 1), site.read("step", 2), site.write("y")},
      .constants = {{"WORKGROUP", int64_t{128}}},
      .params = {{"row_count", count(site.out().shape)},
                 {"row_length", length},
                 {"top_k", settings.greedy() ? Dim(1) : all},
                 {"top_p", settings.top_p},
                 {"min_p", settings.min_p},
                 {"sharpness", settings.greedy() ? 1.0 : 1 / settings.temperature}},
      .prelude = {key_function(site.in(1))},
      .workgroups = count(site.out().shape),
  };
}

}  // namespace

const OpDef& sample_op() {
  static const OpDef op{
      .name = "sample",
      .family = "random",
      .inputs = {3, 3, {"logits", "seed", "step"}},
      .attrs = {{"temperature", 1.0}, {"top_k", 0}, {"top_p", 1.0}, {"min_p", 0.0}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .never_fails = true,
      .gradient_reason = "its result is an integer",
  };
  return op;
}

Value sample(Value logits, Value seed, Value step, const SampleOptions& options) {
  return logits.apply(sample_op(), {logits, seed, step},
                      {{"temperature", options.temperature},
                       {"top_k", options.top_k},
                       {"top_p", options.top_p},
                       {"min_p", options.min_p}});
}

}  // namespace rlx
