// cast(x): the same numbers in another dtype. Floats become integers toward zero, NaN 0, and what
// does not fit the nearest end; integers wrap; to bool is `!= 0`; floats round to nearest even.

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/quads.h"
#include "rlx/ops/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

DType target(const Attrs& attrs) { return attrs.get<DType>("to"); }

Types infer(const InferSite& site) { return {{target(site.attrs), site.in(0).shape}}; }

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  Tensor& y = site.out();
  if (x.dtype() == y.dtype()) {
    y = x;
    return;
  }
  const bool whole = is_integer(x.dtype()) && is_integer(y.dtype());
  for (int64_t i = 0; i < x.count(); ++i) {
    if (whole)
      y.set_integer(i, x.integer_at(i));
    else
      y.set(i, x.at(i));
  }
  if (x.dtype() == DType::c64 && y.dtype() == DType::boolean) {
    const Tensor parts = x.aligned();
    for (int64_t i = 0; i < x.count(); ++i) {
      const auto& z = parts.data<float[2]>()[size_t(i)];
      y.set(i, z[0] != 0 || z[1] != 0);
    }
  }
}

bool is_64_bit(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

// A device keeps 64-bit integers in 32 bits: a value that does not fit raises the flag.
Steps lower(const LowerSite& site) {
  const DType from = site.in(0).dtype, to = target(site.attrs());
  const std::string source = site.compute_type(from), result = site.compute_type(to);
  Formula formula = copy_formula(site.inputs[0], site.results[0]);
  if (!is_64_bit(to) || source == result || source == "bool" || source == "vec2<f32>")
    return generate(formula, site.traits);
  formula.statements =
      text("  if (!fits_", result, '_', source, "(x)) { raise_flag(FLAG_VALUE, 0); }\n");
  formula.includes.push_back(library("fits"));
  if (source != "f32") formula.includes.insert(formula.includes.begin(), library("numbers"));
  Dispatch dispatch = generate(formula, site.traits);
  dispatch.flags_errors = true;
  return dispatch;
}

// What is narrower than f32 would be rounded only where it is stored.
std::optional<std::string> conversion(const Node& node) {
  const DType from = node.inputs[0].dtype(), to = node.types[0].dtype;
  const bool narrow = is_float(to) && bytes_of(to) < bytes_of(DType::f32);
  const bool fits = to == DType::i64 && (from == DType::boolean || from == DType::i32 ||
                                         (is_integer(from) && bytes_of(from) < 4));
  if ((is_64_bit(to) && !fits) || narrow || to == DType::c64 || from == DType::c64)
    return std::nullopt;
  return convert_expression("x", from, to);
}

Gradients gradient(const GradientSite& site) {
  if (!is_float(site.in(0).dtype()) || !is_float(site.y().dtype())) return {std::nullopt};
  return {cast(site.dy(), site.in(0).dtype())};
}

std::optional<Layout> view(const ViewSite& site) {
  if (site.infer.in(0).dtype != site.result.dtype) return std::nullopt;
  return site.input;
}

std::optional<HostValue> symbolic(const InferSite& site) {
  const auto whole = [](DType dtype) { return is_integer(dtype) || dtype == DType::boolean; };
  const DType from = site.in(0).dtype, to = target(site.attrs);
  if (!site.has_host(0) || !whole(from) || !whole(to)) return std::nullopt;
  HostValue value = site.host(0);
  if (from == to) return value;
  if (to != DType::boolean) return all_fit(value, to) ? std::optional(value) : std::nullopt;
  for (Dim& element : value.elements) {  // what is always above or below 0 is true
    const Interval range = range_of(element);
    if (!element.is_number() && range.low <= 0 && range.high >= 0) return std::nullopt;
    element = element.is(0) ? 0 : 1;
  }
  return value;
}

}  // namespace

const OpDef& cast_op() {
  static const OpDef op{
      .name = "cast",
      .family = "elementwise",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"to"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .conversion = conversion,
      .view = view,
      .symbolic = symbolic,
      .variants = {quads_variants()},
      .onnx = "Cast",
  };
  return op;
}

Value cast(Value x, DType dtype) { return x.apply(cast_op(), {x}, {{"to", dtype}}); }

}  // namespace rlx
