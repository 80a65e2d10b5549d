#include "rlx/ops/activation.h"

#include <algorithm>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_activation.h"

namespace rlx {
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

Value with_activation(std::string_view op, Value x, const std::string& name) {
  require_activation(op, name);
  return name.empty() ? x : x.apply(elementwise_op(name), {x});
}

Value activate(Value x, const std::string& activation) {
  return with_activation("activate", x, activation);
}

}  // namespace rlx
