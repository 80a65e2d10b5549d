// quantise(x, scale, zero_point): round(x / scale) + zero_point as a narrow integer, half to even
// and saturated; NaN goes to the zero point. dequantise is (x - zero_point) * scale. fake_quantise
// is both without leaving the floats. Scale and zero point broadcast to x.

#include <cmath>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/elementwise_row.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fake_quantise.h"
#include "rlx/ops/ops_quantise.h"

namespace rlx {

const OpDef& quantise_op();
const OpDef& dequantise_op();
const OpDef& fake_quantise_op();

namespace {

struct Range {
  double low, high;
};
Range range_of(DType dtype) {
  const double bits = 8.0 * static_cast<double>(bytes_of(dtype));
  if (is_signed_integer(dtype)) return {-std::exp2(bits - 1), std::exp2(bits - 1) - 1};
  return {0, std::exp2(bits) - 1};
}
Range range_of(const Attrs& attrs) {
  const double half = std::exp2(static_cast<double>(attrs.get<int64_t>("bits") - 1));
  return {-half, half - 1};
}

// Is there a zero point?
bool is_shifted(const Values& operands) { return operands.size() > 2 && operands[2].present(); }

bool is_narrow(DType dtype) { return is_integer(dtype) && bytes_of(dtype) <= 2; }

// Scale and zero point must not make x larger.
void require_fits(const InferSite& site, size_t i) {
  const Dims &shape = site.in(0).shape, &other = site.in(i).shape;
  bool fits = other.size() <= shape.size();
  for (size_t d = 0; fits && d < other.size(); ++d)
    fits = other[d].is(1) || !shape[d + shape.size() - other.size()].is(1);
  require(fits, site.op.name, ": ", site.op.inputs.names[i], ' ', site.in(i),
          " does not broadcast to x ", site.in(0));
  for (size_t d = 0; d < other.size(); ++d)
    site.broadcasts_to(other[d], shape[d + shape.size() - other.size()],
                       text("cannot broadcast ", other, " to ", shape));
}

// ---- Types ----

Types infer_quantise(const InferSite& site) {
  const TensorType &x = site.in(0), &scale = site.in(1);
  require(is_float(x.dtype), "quantise: needs a float tensor, got ", x);
  require(scale.dtype == x.dtype, "quantise: x is ", x, " and scale is ", scale,
          ", of different dtypes");
  const DType to = site.attrs.get<DType>("to");
  require(is_narrow(to), "quantise: makes i8, u8, i16 or u16, not ", to);
  require_fits(site, 1);
  if (site.has(2)) {
    require(site.in(2).dtype == to, "quantise: zero_point is ", site.in(2), ", it needs to be ",
            to);
    require_fits(site, 2);
  }
  return {{to, x.shape}};
}

Types infer_dequantise(const InferSite& site) {
  const TensorType &x = site.in(0), &scale = site.in(1);
  require(is_narrow(x.dtype) || x.dtype == DType::i32,
          "dequantise: takes i8, u8, i16, u16 or i32, got ", x);
  require(is_float(scale.dtype), "dequantise: scale must be a float, got ", scale);
  require_fits(site, 1);
  if (site.has(2)) {
    require(site.in(2).dtype == x.dtype, "dequantise: zero_point is ", site.in(2),
            ", it needs to be ", x.dtype);
    require_fits(site, 2);
  }
  return {{scale.dtype, x.shape}};
}

Types infer_fake(const InferSite& site) {
  const TensorType &x = site.in(0), &scale = site.in(1);
  require(is_float(x.dtype), "fake_quantise: needs a float tensor, got ", x);
  require(scale.dtype == x.dtype, "fake_quantise: x is ", x, " and scale is ", scale,
          ", of different dtypes");
  require_fits(site, 1);
  const int64_t bits = site.attrs.get<int64_t>("bits");
  require(bits >= 2 && bits <= 16, "fake_quantise: ", bits, " bits are not in [2, 16]");
  const std::string& estimator = site.attrs.get<std::string>("estimator");
  require(estimator == "plain" || estimator == "clipped" || estimator == "tanh" ||
              estimator == "hard_tanh",
          "fake_quantise: there is no estimator '", estimator,
          "'; it takes plain, clipped, tanh, hard_tanh");
  return {x};
}

// ---- References ----

// Element i of a result, in an operand that broadcasts to it.
int64_t index_in(const Tensor& operand, const Shape& shape, int64_t i) {
  const Shape strides = strides_of(operand.shape());
  const size_t extra = shape.size() - operand.shape().size();
  int64_t at = 0;
  for (size_t d = shape.size(); d-- > 0; i /= shape[d])
    if (d >= extra && operand.shape()[d - extra] != 1) at += i % shape[d] * strides[d - extra];
  return at;
}

// Divides as the dtype does, since a half of a step depends on it.
double steps_of(double x, double scale, DType dtype) {
  const double quotient =
      dtype == DType::f64 ? x / scale : double(static_cast<float>(x) / static_cast<float>(scale));
  return std::nearbyint(quotient);
}
double saturated(double x, const Range& range) {
  return std::fmin(std::fmax(x, range.low), range.high);
}

void reference_quantise(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &scale = site.in(1);
  const Range range = range_of(site.out().dtype());
  for (int64_t i = 0; i < x.count(); ++i) {
    const double steps = steps_of(x.at(i), scale.at(index_in(scale, x.shape(), i)), x.dtype());
    const double zero = site.has(2) ? site.in(2).at(index_in(site.in(2), x.shape(), i)) : 0;
    site.out().set(i, saturated((std::isnan(steps) ? 0 : steps) + zero, range));
  }
}

void reference_dequantise(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &scale = site.in(1);
  for (int64_t i = 0; i < x.count(); ++i) {
    const double zero = site.has(2) ? site.in(2).at(index_in(site.in(2), x.shape(), i)) : 0;
    site.out().set(i, (x.at(i) - zero) * scale.at(index_in(scale, x.shape(), i)));
  }
}

void reference_fake(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &scales = site.in(1);
  const Range range = range_of(site.attrs);
  for (int64_t i = 0; i < x.count(); ++i) {
    const double scale = scales.at(index_in(scales, x.shape(), i));
    const double steps = steps_of(x.at(i), scale, x.dtype());
    site.out().set(
        i, std::isnan(x.at(i)) ? x.at(i) : saturated(std::isnan(steps) ? 0 : steps, range) * scale);
  }
}

// ---- Lowering ----

// Of x, its scale y and perhaps its zero point z.
std::optional<std::string> quantised(const Node& node) {
  const DType to = node.types[0].dtype;
  const Range range = range_of(to);
  return text(is_signed_integer(to) ? "i32" : "u32", "(quantise_f32(x, y, ",
              is_shifted(node.inputs) ? "f32(z)" : "0.0", ", ", range.low, ".0, ", range.high,
              ".0))");
}

std::optional<std::string> dequantised(const Node& node) {
  return is_shifted(node.inputs) ? "f32(i32(x) - i32(z)) * y" : "f32(x) * y";
}

Steps lower_fake(const LowerSite& site) {
  const Range range = range_of(site.attrs());
  Formula formula{
      .name = site.node.op->name,
      .operands = {site.read("x", 0), site.read("scale", 1)},
      .result = site.results[0],
      .expression = "select(quantise_f32(x, scale, 0.0, low, high) * scale, x, is_nan(x))",
      .params = {{"low", range.low}, {"high", range.high}},
      .includes = {library("numbers"), library("steps")}};
  Dispatch dispatch = generate(formula, site.traits);
  dispatch.prelude.emplace_back("// Loads: * 1.");
  return dispatch;
}

// ---- Gradients ----
// The integers between quantise and dequantise have gradients of floats: of steps. Both together
// then have those of fake_quantise, and what else makes such integers must have a rule or is an
// Error.

// Straight through where the result was not saturated, and none where it was.
Gradients gradient_quantise(const GradientSite& site) {
  const Value x = site.in(0), scale = site.in(1), steps = x / scale;
  const Range range = range_of(site.attrs().get<DType>("to"));
  const Value place = is_shifted(site.inputs) ? steps + cast(site.in(2), x.dtype()) : steps;
  const Value inside = logical_and(greater_equal(place, scalar(x, range.low)),
                                   less_equal(place, scalar(x, range.high)));
  const Value dy = rows::if_true(inside, site.dy()), dx = dy / scale;
  Gradients gradients{dx, unbroadcast(-dx * steps, scale)};
  if (is_shifted(site.inputs)) gradients.emplace_back(unbroadcast(dy, site.in(2)));
  return gradients;
}

Gradients gradient_dequantise(const GradientSite& site) {
  const Value scale = site.in(1), dx = site.dy() * scale;
  Value steps = cast(site.in(0), scale.dtype());
  if (is_shifted(site.inputs)) steps = steps - cast(site.in(2), scale.dtype());
  Gradients gradients{dx, unbroadcast(site.dy() * steps, scale)};
  if (is_shifted(site.inputs)) gradients.emplace_back(unbroadcast(-dx, site.in(2)));
  return gradients;
}

// dy as far as an estimator lets it through to x.
Value through(const std::string& estimator, Value steps, Value inside, const Range& range,
              Value dy) {
  if (estimator == "plain") return dy;
  if (estimator == "clipped") return rows::if_true(inside, dy);
  const Value one = scalar(steps, 1);
  if (estimator == "tanh") return dy * (one - tanh(steps) * tanh(steps));
  return dy * relu(one - abs(steps) / scalar(steps, range.high));
}

// Straight through for x; the scale has the gradient that learned steps have.
Gradients gradient_fake(const GradientSite& site) {
  const Value x = site.in(0), scale = site.in(1), steps = x / scale;
  const Range range = range_of(site.attrs());
  const Value inside = logical_and(greater_equal(steps, scalar(x, range.low)),
                                   less_equal(steps, scalar(x, range.high)));
  const Value slope = where(inside, round(steps) - steps, clip(steps, range.low, range.high));
  return {through(site.attrs().get<std::string>("estimator"), steps, inside, range, site.dy()),
          unbroadcast(site.dy() * slope, scale)};
}

}  // namespace

const OpDef& quantise_op() {
  static const OpDef op{
      .name = "quantise",
      .family = "quantisation",
      .inputs = {2, 3, {"x", "scale", "zero_point"}},
      .attrs = {{"to", DType::u8}},
      .infer = infer_quantise,
      .reference = reference_quantise,
      .lower = lower_elementwise,
      .gradient = gradient_quantise,
      .conversion = quantised,
      .never_fails = true,
      .onnx = "QuantizeLinear",
  };
  return op;
}

const OpDef& dequantise_op() {
  static const OpDef op{
      .name = "dequantise",
      .family = "quantisation",
      .inputs = {2, 3, {"x", "scale", "zero_point"}},
      .infer = infer_dequantise,
      .reference = reference_dequantise,
      .lower = lower_elementwise,
      .gradient = gradient_dequantise,
      .conversion = dequantised,
      .never_fails = true,
      .accuracy = {2},
      .onnx = "DequantizeLinear",
  };
  return op;
}

const OpDef& fake_quantise_op() {
  static const OpDef op{
      .name = "fake_quantise",
      .family = "quantisation",
      .inputs = {2, 2, {"x", "scale"}},
      .attrs = {{"bits", 8}, {"estimator", "clipped"}},
      .infer = infer_fake,
      .reference = reference_fake,
      .lower = lower_fake,
      .gradient = gradient_fake,
      .never_fails = true,
      .accuracy = {2},
  };
  return op;
}

Value fake_quantise(Value x, Value scale, int64_t bits, const std::string& estimator) {
  return x.apply(fake_quantise_op(), {x, scale}, {{"bits", bits}, {"estimator", estimator}});
}

}  // namespace rlx
