// range(start, limit, delta): start, start + delta, .. as long as limit is not reached. Integers
// are host operands, so that the length is known; floats are attributes.

#include <cmath>

#include "rlx/codegen/elementwise.h"
#include "rlx/ir/known.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& range_op();

namespace {

constexpr const char* kNames[] = {"start", "limit", "delta"};

struct Progression {
  Dim start, limit, delta;

  // Also right where delta is negative.
  Dim length() const { return larger(Dim(0) - floor_div(start - limit, delta), 0); }
};

Progression progression(const Dims& bounds) {
  require(bounds.size() == 3, "range: takes a start, a limit and a delta, got ", bounds.size(),
          " numbers");
  require(!bounds[2].is(0), "range: delta is 0");
  return {bounds[0], bounds[1], bounds[2]};
}

bool has_floats(const Attrs& attrs) { return attrs.has("floats"); }

struct FloatProgression {
  double start, limit, delta;

  int64_t length() const {
    const double steps = std::ceil((limit - start) / delta);
    constexpr int64_t kMost = 1 << 30;
    require(steps <= static_cast<double>(kMost), "range: from ", start, " to ", limit, " by ",
            delta, " has no end that can be reached in ", kMost, " steps");
    return steps > 0 ? static_cast<int64_t>(steps) : 0;
  }
};

FloatProgression float_progression(const Attrs& attrs) {
  const Floats& bounds = attrs.get<Floats>("floats");
  require(bounds.size() == 3, "range: takes a start, a limit and a delta, got ", bounds.size(),
          " numbers");
  require(bounds[2] != 0, "range: delta is 0");
  return {bounds[0], bounds[1], bounds[2]};
}

Progression integers_of(const InferSite& site) {
  if (!site.has(0)) return progression(dims_attr(site.attrs, "integers"));
  Dims bounds;
  for (size_t i = 0; i < 3; ++i) bounds.push_back(site.host(i).elements[0]);
  return progression(bounds);
}

Types infer(const InferSite& site) {
  const bool operands = site.has(0) && site.has(1) && site.has(2);
  require(int(operands) + int(site.attrs.has("integers")) + int(has_floats(site.attrs)) == 1,
          "range: takes start, limit and delta as operands or as attributes, and one of them");
  const DType dtype = operands ? site.in(0).dtype : site.attrs.get<DType>("dtype");
  if (has_floats(site.attrs)) {
    require(is_float(dtype), "range: floats cannot make ", dtype);
    return {{dtype, {float_progression(site.attrs).length()}}};
  }
  require(is_integer(dtype), "range: of ", dtype, " is for attributes, operands are integers");
  for (size_t i = 0; operands && i < 3; ++i)
    require(site.in(i).dtype == dtype && count(site.in(i).shape).is(1), "range: ", kNames[i],
            " must be one ", dtype, ", got ", site.in(i));
  return {{dtype, {integers_of(site).length()}}};
}

std::optional<HostValue> symbolic(const InferSite& site) {
  if (has_floats(site.attrs)) return std::nullopt;
  const Progression all = integers_of(site);
  const Dim length = all.length();
  if (!length.is_number() || length.number() > kMostKnownElements) return std::nullopt;
  HostValue value{{length.number()}, {}};
  for (int64_t i = 0; i < length.number(); ++i)
    value.elements.push_back(all.start + Dim(i) * all.delta);
  const DType dtype = site.has(0) ? site.in(0).dtype : site.attrs.get<DType>("dtype");
  return all_fit(value, dtype) ? std::optional(value) : std::nullopt;
}

void reference(const ReferenceSite& site) {
  Tensor& y = site.out();
  if (has_floats(site.attrs)) {
    const FloatProgression all = float_progression(site.attrs);
    for (int64_t i = 0; i < y.count(); ++i)
      y.set(i, all.start + static_cast<double>(i) * all.delta);
    return;
  }
  const Dims bounds = dims_attr(site.attrs, "integers");
  const auto number = [&](size_t i) {
    return site.has(i) ? site.in(i).integer_at(0) : bounds[i].value(site.symbols);
  };
  require(number(2) != 0, "range: delta is 0");
  for (int64_t i = 0; i < y.count(); ++i) y.set_integer(i, number(0) + i * number(2));
}

Steps lower(const LowerSite& site) {
  const DType dtype = site.out().dtype;
  Formula formula{.name = "range", .operands = {}, .result = site.results[0], .expression = ""};
  if (has_floats(site.attrs())) {
    const FloatProgression all = float_progression(site.attrs());
    formula.params = {{"start", all.start}, {"delta", all.delta}};
    formula.expression = "fma(f32(i), delta, start)";
    return generate(formula, site.traits);
  }
  const bool operands = !site.node.inputs.empty() && site.node.inputs[0].present();
  Dims bounds = dims_attr(site.attrs(), "integers");
  for (size_t i = 0; operands && i < 3; ++i) bounds.push_back(site.host(i).elements[0]);
  const Progression all = progression(bounds);
  formula.params = {{"start", all.start}, {"delta", all.delta}};
  const char* signed_form = "bitcast<i32>(start + i * delta)";
  formula.expression = is_signed_integer(dtype) ? signed_form : "start + i * delta";
  // Checked with the params, not used: a limit beyond the 32 bits of a device is then an error.
  if (bytes_of(dtype) == 8)
    formula.params.emplace_back("limit_above_lowest", all.limit - Dim(int64_t{INT32_MIN}));
  return generate(formula, site.traits);
}

}  // namespace

const OpDef& range_op() {
  static const OpDef op{
      .name = "range",
      .family = "shape",
      .inputs = {0, 3, {"start", "limit", "delta"}},
      .attrs = {{"dtype", DType::i64}, {"integers", {}, true}, {"floats", {}, true}},
      .host_inputs = {0, 1, 2},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .symbolic = symbolic,
      .gradient_reason = "its bounds are known before it runs",
      .onnx = "Range",
  };
  return op;
}

Value range(Value start, Value limit, Value delta) {
  return start.apply(range_op(), {start, limit, delta});
}
Value range(Value like, double start, double limit, double delta) {
  return like.apply(range_op(), {},
                    {{"floats", Floats{start, limit, delta}}, {"dtype", like.dtype()}});
}
Value counting(Value like, const Dim& count, DType dtype) {
  return like.apply(range_op(), {}, {{"integers", Dims{0, count, 1}}, {"dtype", dtype}});
}

}  // namespace rlx
