// cross_entropy(x, labels): log_sum_exp(row) - row[label] for each row of logits along an axis, in
// one pass and without a tensor of probabilities; of log-probabilities (logits = false) just
// -row[label]. cross_entropy_gradient(x, labels, scale): what its gradient is, scale *
// (softmax(row) - one_hot(label)).

#include "rlx/ops/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

const OpDef& cross_entropy_op();
const OpDef& cross_entropy_dx_op();

namespace {

size_t axis_in(const Attrs& attrs, const TensorType& x, std::string_view op = "cross_entropy") {
  return axis_of(op, attrs.get<int64_t>("axis"), x);
}
bool of_logits(const Attrs& attrs) { return attrs.get<bool>("logits"); }

Dims without(Dims shape, size_t axis) {
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  return shape;
}

void check_labels(const InferSite& site, const Dims& expected) {
  const TensorType &x = site.in(0), &labels = site.in(1);
  require(is_float(x.dtype), site.op.name, ": needs a float tensor, got ", x);
  require(is_integer(labels.dtype) && labels.shape.size() == expected.size(), site.op.name,
          ": labels are ", labels, ", they need to be integers of shape ", expected);
  for (size_t d = 0; d < expected.size(); ++d)
    site.equal(labels.shape[d], expected[d], text("labels ", labels, " do not fit ", x));
}

Types infer(const InferSite& site) {
  const Dims rows = without(site.in(0).shape, axis_in(site.attrs, site.in(0)));
  check_labels(site, rows);
  return {{site.in(0).dtype, rows}};
}

Types infer_gradient(const InferSite& site) {
  const TensorType &x = site.in(0), &scale = site.in(2);
  const Dims rows = without(x.shape, axis_in(site.attrs, x, site.op.name));
  check_labels(site, rows);
  require(scale.dtype == x.dtype && scale.shape.size() == rows.size(),
          "cross_entropy_dx: scale is ", scale, ", it needs one for each row of ", x);
  for (size_t d = 0; d < rows.size(); ++d)
    site.equal(scale.shape[d], rows[d], text("scale ", scale, " does not fit ", x));
  return {x};
}

// ---- Reference ----

// A row: its label, the logarithm of what it sums to, and where its elements are.
template <class F>
void for_each_row(const ReferenceSite& site, F f) {
  const Tensor &x = site.in(0), &labels = site.in(1);
  const ConcreteRows rows(x.shape(), axis_in(site.attrs, x.type()));
  for (int64_t row = 0; row < rows.count; ++row) {
    const int64_t label = labels.integer_at(row);
    if (label < 0 || label >= rows.length)
      fail(ErrorKind::invalid_input, "cross_entropy: label ", label, " is out of range for ",
           x.type(), " (", rows.length, " classes)");
    double highest = -INFINITY, total = 0;
    for (int64_t i = 0; i < rows.length; ++i) {
      const double value = x.at(rows.at(row, i));
      highest = value > highest || std::isnan(value) ? value : highest;
    }
    for (int64_t i = 0; i < rows.length; ++i) total += std::exp(x.at(rows.at(row, i)) - highest);
    f(rows, row, label, highest + std::log(total));
  }
}

void reference(const ReferenceSite& site) {
  const bool logits = of_logits(site.attrs);
  for_each_row(site, [&](const ConcreteRows& rows, int64_t row, int64_t label, double log_sum) {
    site.out().set(row, (logits ? log_sum : 0) - site.in(0).at(rows.at(row, label)));
  });
}

void reference_gradient(const ReferenceSite& site) {
  const bool logits = of_logits(site.attrs);
  for_each_row(site, [&](const ConcreteRows& rows, int64_t row, int64_t label, double log_sum) {
    for (int64_t i = 0; i < rows.length; ++i) {
      const int64_t at = rows.at(row, i);
      const double share = logits ? std::exp(site.in(0).at(at) - log_sum) : 0;
      site.out().set(at, site.in(2).at(row) * (share - (i == label ? 1 : 0)));
    }
  });
}

// ---- Lowering: a workgroup to a row, or a lane where rows are short ----

Dispatch dispatch_rows(const LowerSite& site, std::string_view file) {
  constexpr int64_t kShort = 32, kWorkgroup = 64;
  const Rows rows(site.in(0).shape, axis_in(site.attrs(), site.in(0)));
  const bool alone = rows.length.is_number() && rows.length.number() <= kShort;
  return {
      .kernel = kernel(file, {"numbers", "functions", "reduce", "class_rows"}),
      .operands = {site.read("x", 0), site.read("labels", 1)},
      .constants = {{"LOGITS", of_logits(site.attrs())},
                    {"LANES", alone ? int64_t{1} : kWorkgroup}},
      .params = {{"row_count", rows.count}, {"row_length", rows.length}, {"stride", rows.stride}},
      .workgroups = alone ? ceil_div(rows.count, kWorkgroup) : rows.count,
      .flags_errors = true,
  };
}

Steps lower(const LowerSite& site) {
  Dispatch dispatch = dispatch_rows(site, "cross_entropy");
  dispatch.operands.push_back(site.write("y"));
  const bool logits = of_logits(site.attrs());
  dispatch.prelude.emplace_back(logits ? "// Loads: x 3." : "// Loads: x 1 for each y.");
  return dispatch;
}

Steps lower_gradient(const LowerSite& site) {
  Dispatch dispatch = dispatch_rows(site, "cross_entropy_dx");
  dispatch.operands.push_back(site.read("scale", 2));
  dispatch.operands.push_back(site.write("y"));
  if (of_logits(site.attrs())) dispatch.prelude.emplace_back("// Loads: x 3.");
  return dispatch;
}

// ---- Gradients ----

Value gradient_of(Value x, Value labels, Value scale, const Attrs& attrs) {
  return x.apply(cross_entropy_dx_op(), {x, labels, scale},
                 {{"axis", attrs.get<int64_t>("axis")}, {"logits", of_logits(attrs)}});
}

Gradients gradient(const GradientSite& site) {
  return {gradient_of(site.in(0), site.in(1), site.dy(), site.attrs()), std::nullopt};
}

Gradients gradient_of_gradient(const GradientSite& site) {
  const Value x = site.in(0), scale = site.in(2), dy = site.dy();
  const Ints axis{static_cast<int64_t>(axis_in(site.attrs(), x.type()))};
  const Value per_unit =
      gradient_of(x, site.in(1), expand(scalar(x, 1), scale.shape()), site.attrs());
  const Value d_scale = sum(dy * per_unit, axis);
  if (!of_logits(site.attrs())) return {std::nullopt, std::nullopt, d_scale};
  const Value shares = softmax(x, axis[0]);
  const Value dx = unsqueeze(scale, axis) * shares * (dy - sum(dy * shares, axis, true));
  return {dx, std::nullopt, d_scale};
}

}  // namespace

const OpDef& cross_entropy_op() {
  static const OpDef op{
      .name = "cross_entropy",
      .family = "losses",
      .inputs = {2, 2, {"x", "labels"}},
      .attrs = {{"axis", -1}, {"logits", true}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .accuracy = {16, 0x1p-21},
      .onnx = "SoftmaxCrossEntropyLoss",
  };
  return op;
}

const OpDef& cross_entropy_dx_op() {
  static const OpDef op{
      .name = "cross_entropy_dx",
      .family = "losses",
      .inputs = {3, 3, {"x", "labels", "scale"}},
      .attrs = {{"axis", -1}, {"logits", true}},
      .infer = infer_gradient,
      .reference = reference_gradient,
      .lower = lower_gradient,
      .gradient = gradient_of_gradient,
      .accuracy = {32, 0x1p-22},
  };
  return op;
}

Value cross_entropy(Value x, Value labels, int64_t axis, bool logits) {
  return x.apply(cross_entropy_op(), {x, labels}, {{"axis", axis}, {"logits", logits}});
}

}  // namespace rlx
