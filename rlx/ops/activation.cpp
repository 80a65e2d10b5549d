#include "rlx/ops/activation.h"

#include <algorithm>
#include <iomanip>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/lib/library.h"
#include "rlx/ops/ops_activation.h"

namespace rlx {
namespace {

const Elementwise& scalar_form(const std::string& name) {
  return *elementwise_op(name).elementwise;
}

std::vector<double> defaults(const OpDef& op) {
  std::vector<double> values;
  for (const AttrSpec& attr : op.attrs)
    values.push_back(std::get<double>(attr.otherwise->variant()));
  return values;
}

}  // namespace

Strings activation_names() {
  Strings names;
  for (const OpDef& op : rows::activation_rows()) names.push_back(op.name);
  return names;
}

void require_activation(std::string_view op, const std::string& name) {
  static const Strings names = activation_names();
  require(name.empty() || std::count(names.begin(), names.end(), name) != 0, op, ": activation '",
          name, "' is none of ", joined(names));
}

double activated(double x, const std::string& name) {
  if (name.empty()) return x;
  const OpDef& op = elementwise_op(name);
  return op.elementwise->floating(&x, defaults(op).data());
}

std::string activation_function(const std::string& name) {
  std::string params;
  if (!name.empty())
    for (const AttrSpec& attr : elementwise_op(name).attrs)
      params += text("let ", attr.name, " = f32(", std::setprecision(9), std::fixed,
                     std::get<double>(attr.otherwise->variant()), "); ");
  const std::string body = name.empty() ? "x" : scalar_form(name).floating_wgsl;
  return text("fn activation(x: f32) -> f32 { ", params, "return ", body, "; }");
}

std::vector<KernelText> activation_includes(const std::string& name) {
  std::vector<KernelText> includes;
  if (!name.empty())
    for (const std::string& file : scalar_form(name).includes) includes.push_back(library(file));
  return includes;
}

Value activate(Value x, const std::string& activation) {
  if (activation.empty()) return x;
  require_activation("activate", activation);
  return x.apply(elementwise_op(activation), {x});
}

Value activation_gradient(Value z, Value dy, const std::string& name) {
  if (name.empty()) return dy;
  const Value y = activate(z, name);
  const Node& node = y.producer();
  return *node.op->gradient({node, {z}, {y}, {dy}})[0];
}

}  // namespace rlx
