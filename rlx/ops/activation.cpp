#include "rlx/ops/activation.h"

#include <algorithm>

#include "rlx/ops/elementwise.h"
#include "rlx/ops/lib/library.h"
#include "rlx/ops/ops.h"

namespace rlx {
namespace {

const Elementwise& scalar_form(const std::string& name) {
  return *elementwise_op(name).elementwise;
}

}  // namespace

void require_activation(std::string_view op, const std::string& name) {
  static const Strings kNames = {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"};
  require(name.empty() || std::count(kNames.begin(), kNames.end(), name) != 0, op, ": activation '",
          name, "' is none of ", joined(kNames));
}

double activated(double x, const std::string& name) {
  return name.empty() ? x : scalar_form(name).floating(&x, nullptr);
}

std::string activation_function(const std::string& name) {
  const std::string body = name.empty() ? "x" : scalar_form(name).floating_wgsl;
  return text("fn activation(x: f32) -> f32 { return ", body, "; }");
}

std::vector<KernelText> activation_includes(const std::string& name) {
  std::vector<KernelText> includes;
  if (!name.empty())
    for (const std::string& file : scalar_form(name).includes) includes.push_back(library(file));
  return includes;
}

Value activation_gradient(Value z, Value dy, const std::string& name) {
  if (name.empty()) return dy;
  const Value y = activate(z, name);
  const Node& node = y.producer();
  return *node.op->gradient({node, {z}, {y}, {dy}})[0];
}

}  // namespace rlx
