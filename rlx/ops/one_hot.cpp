// one_hot(indices, depth, values, axis): a new axis of length `depth`, on where an index names it
// and off elsewhere. Negative indices count from the end; one out of range is off everywhere.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_index.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& one_hot_op();

namespace {

size_t axis_in(const Attrs& attrs, const Dims& indices) {
  const int64_t axis = attrs.get<int64_t>("axis"), end = static_cast<int64_t>(indices.size());
  require(-end - 1 <= axis && axis <= end, "one_hot: axis ", axis, " is out of range for a result",
          " of rank ", end + 1);
  return static_cast<size_t>(axis < 0 ? axis + end + 1 : axis);
}

Dim depth_of(const InferSite& site) {
  require(site.attrs.has("depth") != site.has(1),
          "one_hot: takes depth as attribute or as operand, and one of them");
  if (!site.has(1)) return site.attrs.get<int64_t>("depth");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && count(type.shape).is(1),
          "one_hot: depth must be one integer, got ", type);
  return site.host(1).elements[0];
}

Types infer(const InferSite& site) {
  const TensorType& indices = site.in(0);
  require(is_integer(indices.dtype), "one_hot: indices must be integers, got ", indices);
  const Dim depth = depth_of(site);
  require(!depth.is_number() || depth.number() >= 0, "one_hot: depth ", depth, " is negative");
  DType dtype = site.attrs.get<DType>("dtype");
  if (site.has(2)) {
    dtype = site.in(2).dtype;
    require(rank(site.in(2)) == 1 && (site.in(2).shape[0] == 2),
            "one_hot: values must be two, off and on, got ", site.in(2));
  }
  Dims shape = indices.shape;
  shape.insert(shape.begin() + static_cast<int64_t>(axis_in(site.attrs, shape)), larger(depth, 0));
  return {{dtype, shape}};
}

void reference(const ReferenceSite& site) {
  const Tensor& indices = site.in(0);
  Tensor values = Tensor::of(site.out().dtype(), {2}, {0, 1});
  if (site.has(2)) values = site.in(2);
  const ConcreteRows rows(site.out().shape(), axis_in(site.attrs, indices.type().shape));
  for (int64_t n = 0; n < rows.count; ++n) {
    int64_t index = indices.integer_at(n);
    if (index < 0 && is_signed_integer(indices.dtype())) index += rows.length;
    for (int64_t d = 0; d < rows.length; ++d)
      copy_elements(values, d == index ? 1 : 0, site.out(), rows.at(n, d), 1);
  }
}

// The indices are seen through a stride of 0 along the new axis.
Steps lower(const LowerSite& site) {
  const Dims& shape = site.out().shape;
  const size_t axis = axis_in(site.attrs(), site.in(0).shape);
  const bool is_signed = is_signed_integer(site.in(0).dtype);
  Operand index = site.read("index", 0);
  index.shape = shape;
  index.layout.strides.insert(index.layout.strides.begin() + static_cast<int64_t>(axis), Dim(0));
  index.layout = tidy(index.layout, shape);
  Formula formula{
      .name = "one_hot",
      .operands = {index},
      .result = site.results[0],
      .expression = "",
      .params = {{"depth", shape[axis]}, {"inner", product(shape, axis + 1, shape.size())}}};
  const std::string hot =
      is_signed
          ? "(index == i32(i / inner % depth) || index + i32(depth) == i32(i / inner % depth))"
          : "(index == i / inner % depth)";
  const bool has_values = site.has(2);
  for (const int64_t which : {0, 1}) {
    if (!has_values) break;
    Operand value = site.read(which ? "on" : "off", 2);
    value.layout = {value.layout.offset + Dim(which) * value.layout.strides[0], {}};
    value.shape = {};
    formula.operands.push_back(value);
  }
  const DType dtype = site.out().dtype;
  formula.expression = has_values ? text("select(off, on, ", hot, ")")
                                  : convert_expression(hot, DType::boolean, dtype);
  return generate(formula, site.traits);
}

Gradients gradient(const GradientSite& site) {
  Gradients gradients(site.inputs.size());
  if (site.inputs.size() < 3 || !site.in(2).present() || !is_float(site.in(2).dtype()))
    return gradients;
  Attrs attrs = site.attrs();
  attrs.set("dtype", site.dy().dtype());
  Values operands = site.inputs;
  operands.resize(2);
  const Value on = site.dy() * site.dy().apply(one_hot_op(), operands, attrs);
  gradients[2] = concat({reshape(sum(site.dy() - on), {1}), reshape(sum(on), {1})}, 0);
  return gradients;
}

}  // namespace

const OpDef& one_hot_op() {
  static const OpDef op{
      .name = "one_hot",
      .family = "indexing",
      .inputs = {1, 3, {"indices", "depth", "values"}},
      .attrs = {{"axis", -1}, {"depth", {}, true}, {"dtype", DType::f32}},
      .host_inputs = {1},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .never_fails = true,
      .onnx = "OneHot",
  };
  return op;
}

Value one_hot(Value indices, int64_t depth, DType dtype, int64_t axis) {
  return indices.apply(one_hot_op(), {indices},
                       {{"depth", depth}, {"dtype", dtype}, {"axis", axis}});
}
Value one_hot(Value indices, Value depth, Value values, int64_t axis) {
  return indices.apply(one_hot_op(), {indices, depth, values}, {{"axis", axis}});
}

}  // namespace rlx
