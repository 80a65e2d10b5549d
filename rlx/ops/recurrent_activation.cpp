// The options of ONNX's recurrent ops, and their activations: what they compute, in C++ and WGSL.

#include <algorithm>
#include <cmath>

#include "rlx/ops/recurrent.h"

namespace rlx {
namespace {

struct Row {
  const char* name;
  double (*compute)(double x, double alpha, double beta);
  const char* wgsl;  // over x, alpha and beta
  bool takes_alpha = false, takes_beta = false;
  double alpha = 0, beta = 0;
};

constexpr Row kRows[] = {
    {"affine", [](double x, double a, double b) { return a * x + b; }, "alpha * x + beta", true,
     true, 1, 0},
    {"elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; },
     "select(x, alpha * expm1_f32(x), x < 0.0)", true, false, 1, 0},
    {"hardsigmoid",
     [](double x, double a, double b) {
       return std::isnan(x) ? x : std::clamp(a * x + b, 0.0, 1.0);
     },
     "select(clamp(alpha * x + beta, 0.0, 1.0), x, is_nan(x))", true, true, 0.2, 0.5},
    {"leakyrelu", [](double x, double a, double) { return x < 0 ? a * x : x; },
     "select(x, alpha * x, x < 0.0)", true, false, 0.01, 0},
    {"relu", [](double x, double, double) { return x < 0 ? 0 : x; }, "max_or_nan(x, 0.0)"},
    {"scaledtanh", [](double x, double a, double b) { return a * std::tanh(b * x); },
     "alpha * tanh_f32(beta * x)", true, true, 1, 1},
    {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, "sigmoid_f32(x)"},
    {"softplus",
     [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
     "softplus_f32(x)"},
    {"softsign", [](double x, double, double) { return x / (1 + std::abs(x)); },
     "x / (1.0 + abs(x))"},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, "tanh_f32(x)"},
    {"thresholdedrelu", [](double x, double a, double) { return x > a ? x : 0; },
     "select(0.0, x, x > alpha)", true, false, 1, 0},
};

const Row& row_of(const std::string& name) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const Row& row) { return row.name == name; });
}

std::string lower_case(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

}  // namespace

double activated(const CellActivation& activation, double x) {
  return row_of(activation.name).compute(x, activation.alpha, activation.beta);
}

std::vector<std::string> activation_functions(const std::vector<CellActivation>& activations,
                                              size_t directions, double clip) {
  const size_t each = activations.size() / directions;
  const auto number = [](double value) {  // exact: the nearest float as its bits
    const Tensor f = Tensor::scalar(DType::f32, value);
    uint32_t bits = 0;
    std::copy(f.bytes().begin(), f.bytes().end(), reinterpret_cast<std::byte*>(&bits));
    return text("bitcast<f32>(", bits, "u)");
  };
  std::vector<std::string> functions;
  for (size_t i = 0; i < each; ++i) {
    std::string function =
        text("fn activate_", i, "(d: u32, value: f32) -> f32 {\n  let x = ",
             clip > 0 ? text("clipped(value, ", number(clip), ")") : "value", ";\n");
    for (size_t d = directions; d-- > 0;) {
      const CellActivation& activation = activations[d * each + i];
      function +=
          text("  ", d > 0 ? "if (d == 1u) " : "", "{\n    let alpha = ", number(activation.alpha),
               ";\n    let beta = ", number(activation.beta), ";\n    return ",
               row_of(activation.name).wgsl, ";\n  }\n");
    }
    functions.push_back(function + "}");
  }
  return functions;
}

std::vector<CellActivation> cell_activations(const std::string& op, const Strings& defaults,
                                             size_t directions, const Attrs& attrs) {
  Strings names = attrs.get<Strings>("activations");
  if (names.empty())
    for (size_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  require(names.size() == defaults.size() * directions, op, ": there are ", names.size(),
          " activations, it takes ", defaults.size(), " for each direction");
  // Numbers are taken in order by the functions that have use for one.
  const Floats &alphas = attrs.get<Floats>("activation_alpha"),
               &betas = attrs.get<Floats>("activation_beta");
  size_t alpha = 0, beta = 0;
  std::vector<CellActivation> activations;
  for (const std::string& given : names) {
    const std::string name = lower_case(given);
    const bool known = std::any_of(std::begin(kRows), std::end(kRows),
                                   [&](const Row& row) { return row.name == name; });
    require(known, op, ": there is no activation '", given, "'");
    const Row& row = row_of(name);
    CellActivation activation{name, row.alpha, row.beta};
    if (row.takes_alpha && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (row.takes_beta && beta < betas.size()) activation.beta = betas[beta++];
    activations.push_back(activation);
  }
  return activations;
}

RecurrentForm::RecurrentForm(const OpDef& op, const Dims& x, const Dims& r, const Attrs& attrs)
    : lstm(op.name == "lstm"),
      gates(lstm               ? 4
            : op.name == "gru" ? 3
                               : 1),
      clip(attrs.get<double>("clip")) {
  const std::string& direction = attrs.get<std::string>("direction");
  const int64_t layout = attrs.get<int64_t>("layout");
  require(direction == "forward" || direction == "reverse" || direction == "bidirectional", op.name,
          ": direction '", direction, "' is none of forward, reverse, bidirectional");
  require(layout == 0 || layout == 1, op.name, ": layout ", layout, " is neither 0 nor 1");
  require(clip >= 0, op.name, ": clip ", clip, " is negative");
  directions = direction == "bidirectional" ? 2 : 1;
  reverse = direction == "reverse";
  batch_first = layout == 1;
  steps = x[batch_first ? 1 : 0];
  batches = x[batch_first ? 0 : 1];
  inputs = x[2];
  hidden = r[2];
  const Strings defaults = lstm         ? Strings{"Sigmoid", "Tanh", "Tanh"}
                           : gates == 3 ? Strings{"Sigmoid", "Tanh"}
                                        : Strings{"Tanh"};
  activations = cell_activations(op.name, defaults, static_cast<size_t>(directions), attrs);
}

}  // namespace rlx
