// ai.onnx.preview.training: optimisers' steps, and gradients.

#include "rlx/autodiff/gradient.h"
#include "rlx/import/onnx/site.h"
#include "rlx/ops/ops_core.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

// What an optimiser is given: a rate, how many updates there were, and lists of tensors, all as
// long as each other: the weights, their gradients, and what it remembers of them.
struct Optimiser {
  Site site;
  size_t lists;
  size_t length = (site.inputs.size() - 2) / lists;

  Optimiser(Site at, size_t count) : site(at), lists(count) {
    if (site.inputs.size() < 2 + lists || (site.inputs.size() - 2) % lists != 0)
      site.fail_node("takes a rate, a count and ", lists, " lists of tensors, got ",
                     site.inputs.size(), " inputs");
  }

  Value rate() const { return site.in(0); }
  Value updates(DType dtype) const { return cast(site.in(1), dtype); }
  Value is_first() const { return equal(site.in(1), scalar(site.in(1), 0)); }
  Value weight(size_t k) const { return at(0, k); }
  Value state(size_t list, size_t k) const { return at(2 + list, k); }
  // With the weight's own share, which keeps it small.
  Value gradient(size_t k) const {
    return at(1, k) + attribute(weight(k), "norm_coefficient", 0) * weight(k);
  }
  Value attribute(Value like, const char* name, double otherwise) const {
    return scalar(like, site.real(name, otherwise));
  }

 private:
  Value at(size_t list, size_t k) const { return site.in(2 + list * length + k); }
};

// The results are lists as well.
Items in_order(const std::vector<Values>& lists) {
  Items items;
  for (const Values& list : lists) items.insert(items.end(), list.begin(), list.end());
  return items;
}

Items adagrad(Site site) {
  const Optimiser given(site, 3);
  std::vector<Values> results(2);
  for (size_t k = 0; k < given.length; ++k) {
    const Value x = given.weight(k), g = given.gradient(k);
    const Value decay = given.updates(x.dtype()) * given.attribute(x, "decay_factor", 0);
    const Value squares = given.state(0, k) + g * g;
    const Value rate = given.rate() / (decay + scalar(x, 1));
    results[0].push_back(x - rate * g / (sqrt(squares) + given.attribute(x, "epsilon", 1e-6)));
    results[1].push_back(squares);
  }
  return in_order(results);
}

Items adam(Site site) {
  const Optimiser given(site, 4);
  std::vector<Values> results(3);
  for (size_t k = 0; k < given.length; ++k) {
    const Value x = given.weight(k), g = given.gradient(k), one = scalar(x, 1);
    const Value alpha = given.attribute(x, "alpha", 0.9), beta = given.attribute(x, "beta", 0.999);
    const Value mean = alpha * given.state(0, k) + (one - alpha) * g;
    const Value squares = beta * given.state(1, k) + (one - beta) * g * g;
    const Value count = given.updates(x.dtype());
    const Value corrected = given.rate() * sqrt(one - pow(beta, count)) / (one - pow(alpha, count));
    const Value rate = where(given.is_first(), given.rate(), corrected);
    const Value next = x - rate * mean / (sqrt(squares) + given.attribute(x, "epsilon", 1e-6));
    results[0].push_back((one - given.attribute(x, "norm_coefficient_post", 0)) * next);
    results[1].push_back(mean);
    results[2].push_back(squares);
  }
  return in_order(results);
}

Items momentum(Site site) {
  const Optimiser given(site, 3);
  const std::string mode = site.string("mode");
  if (mode != "nesterov" && mode != "standard") site.fail_node("mode is '", mode, "'");
  std::vector<Values> results(2);
  for (size_t k = 0; k < given.length; ++k) {
    const Value x = given.weight(k), g = given.gradient(k);
    const Value alpha = given.attribute(x, "alpha", 0);
    const Value beta = where(given.is_first(), scalar(x, 1), given.attribute(x, "beta", 0));
    const Value speed = alpha * given.state(0, k) + beta * g;
    results[0].push_back(x - given.rate() * (mode == "nesterov" ? g + alpha * speed : speed));
    results[1].push_back(speed);
  }
  return in_order(results);
}

// Of the value named y, with respect to the inputs, which are the values named xs.
Items gradient_operator(Site site) {
  const Strings names = site.strings("xs");
  Values xs;
  for (size_t i = 0; i < names.size(); ++i) {
    xs.push_back(site.in(i));
    const Value named = site.named(names[i]).value;
    if (named != xs[i]) site.fail_node("input ", i, " is another value than '", names[i], "'");
  }
  const Value y = site.named(site.string("y")).value;
  if (!y) site.fail_node("y must be a tensor of numbers");
  const Values results = gradient(y, xs);
  return {results.begin(), results.end()};
}

}  // namespace

std::span<const Operator> training_operators() {
  static constexpr Operator kOperators[] = {
      {"Adagrad", adagrad},
      {"Adam", adam},
      {"Gradient", gradient_operator},
      {"Momentum", momentum},
  };
  return kOperators;
}

}  // namespace rlx::onnx
