// The table of ops on single elements, theme by theme. A row says all of its op: what it computes
// in C++ and in WGSL, and its gradient; broadcasting, dtypes and kernels are the same for all.

#include "rlx/ops/elementwise.h"

#include <cmath>

#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/ops_core.h"

namespace rlx {
namespace {

const std::vector<OpDef>& table() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> all;
    for (const auto rows_of_theme : {rows::math_rows, rows::trig_rows, rows::activation_rows,
                                     rows::binary_rows, rows::logic_rows, rows::loss_rows})
      for (OpDef& op : rows_of_theme()) all.push_back(std::move(op));
    return all;
  }();
  return ops;
}

}  // namespace

Value rows::apply(std::string_view name, const Values& inputs, const Attrs& attrs) {
  return inputs[0].apply(elementwise_op(name), inputs, attrs);
}

std::span<const OpDef* const> elementwise_ops() {
  static const std::vector<const OpDef*> ops = [] {
    std::vector<const OpDef*> pointers;
    for (const OpDef& op : table()) pointers.push_back(&op);
    return pointers;
  }();
  return ops;
}

const OpDef& elementwise_op(std::string_view name) {
  for (const OpDef& op : table())
    if (op.name == name) return op;
  fail(ErrorKind::unsupported, "there is no elementwise op '", name, "'");
}

Value scalar(Value like, double value) {
  require(is_float(like.dtype()) || value == std::trunc(value), "scalar: ", value, " is no ",
          like.dtype());
  return constant_beside(like, Tensor::scalar(like.dtype(), value));
}

}  // namespace rlx
