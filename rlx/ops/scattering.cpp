#include "rlx/ops/scattering.h"

#include <algorithm>
#include <cmath>

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/sorting.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

struct Reduction {
  const char* name;
  double (*floating)(double a, double b);
  int64_t (*integer)(int64_t a, int64_t b);
  uint64_t (*natural)(uint64_t a, uint64_t b);  // where the sign matters
  const char *floating_wgsl, *integer_wgsl;
  bool grows;  // may leave the range of its operands, and for floats the order matters
};

int64_t wrap(uint64_t bits) { return static_cast<int64_t>(bits); }

constexpr Reduction kReductions[] = {
    {"none", [](double, double b) { return b; }, [](int64_t, int64_t b) { return b; },
     [](uint64_t, uint64_t b) { return b; }, "b", "b", false},
    {"add", [](double a, double b) { return a + b; },
     [](int64_t a, int64_t b) { return wrap(uint64_t(a) + uint64_t(b)); },
     [](uint64_t a, uint64_t b) { return a + b; }, "a + b", "a + b", true},
    {"mul", [](double a, double b) { return a * b; },
     [](int64_t a, int64_t b) { return wrap(uint64_t(a) * uint64_t(b)); },
     [](uint64_t a, uint64_t b) { return a * b; }, "a * b", "a * b", true},
    {"max", [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
     [](int64_t a, int64_t b) { return std::max(a, b); },
     [](uint64_t a, uint64_t b) { return std::max(a, b); }, "max_or_nan(a, b)", "max(a, b)", false},
    {"min", [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
     [](int64_t a, int64_t b) { return std::min(a, b); },
     [](uint64_t a, uint64_t b) { return std::min(a, b); }, "min_or_nan(a, b)", "min(a, b)", false},
};

const Reduction& reduction_of(std::string_view op, const Attrs& attrs) {
  const std::string& name = attrs.get<std::string>("reduction");
  for (const Reduction& reduction : kReductions)
    if (name == reduction.name) return reduction;
  fail(ErrorKind::invalid_graph, op, ": there is no reduction '", name,
       "'; it takes none, add, mul, max, min");
}
bool replaces(const Reduction& reduction) { return &reduction == &kReductions[0]; }

// Packed elements cannot be updated one by one, and halves would be rounded at each step.
bool needs_wide(const LowerSite& site, const Reduction& reduction) {
  const DType dtype = site.out().dtype;
  if (replaces(reduction)) return is_packed(dtype, site.traits);
  return bytes_of(dtype) < 4 && dtype != DType::boolean;
}

enum Variant : int64_t { in_order = 0, all_at_once = 1, sorted = 2 };

// In order, one invocation per column, where there are many columns or few steps in each. Sums of
// floats that must be deterministic cannot use atomics, whose order varies: they are computed from
// sorted places. On a CPU one lane in order is faster than a sort.
int64_t choose_variant(const LowerSite& site, const Scattering& scattering,
                       const Reduction& reduction) {
  const bool order_matters = reduction.grows && is_float(site.out().dtype);
  const bool deterministic = order_matters && site.attrs().get<bool>("deterministic");
  constexpr int64_t kManyColumns = 1024, kFewSteps = 64;
  const bool many_columns =
      !scattering.columns.is_number() || scattering.columns.number() >= kManyColumns;
  const bool few_steps = scattering.steps.is_number() && scattering.steps.number() <= kFewSteps;
  const bool software = site.traits.device_class == DeviceClass::software;
  const int64_t at_once = !deterministic ? all_at_once : software ? in_order : sorted;
  const int64_t wanted =
      site.choices.get("scatter.kernel", many_columns || few_steps ? in_order : at_once);
  const bool fits = wanted == all_at_once ? !deterministic : wanted != sorted || order_matters;
  return fits ? wanted : at_once;
}

Dispatch scatter_dispatch(const LowerSite& site, const char* name, const Scattering& scattering,
                          const Reduction& reduction) {
  const DType dtype = site.out().dtype;
  const std::string type = site.compute_type(dtype);
  Dispatch dispatch{
      .kernel = kernel(name, {"numbers"}),
      .operands = {site.read("indices", 1), site.read("updates", 2)},
      .prelude = {text("alias Element = ", type, ";"),
                  text("fn combine(a: Element, b: Element) -> Element { return ",
                       is_float(dtype) ? reduction.floating_wgsl : reduction.integer_wgsl, "; }")}};
  scattering.places.add_to(dispatch);
  return dispatch;
}

Dispatch one_each(Dispatch dispatch, const Dim& updates) {
  dispatch.params.emplace_back("count", updates);
  dispatch.workgroups = ceil_div(updates, 64);
  return dispatch;
}

// Updates claim their places, then each place takes what claimed it.
Steps replace_all_at_once(const LowerSite& site, const Scattering& scattering) {
  Operand claims = site.temporary("claims", {DType::u32, site.out().shape});
  Steps steps = Clear{claims.value};
  Dispatch claim = scatter_dispatch(site, "scatter_claim", scattering, kReductions[0]);
  claim.operands.pop_back();
  claims.access = Access::read_write;
  claims.atomic = true;
  claim.operands.push_back(claims);
  steps.add(one_each(std::move(claim), count(site.in(2).shape)));
  claims.access = Access::read;
  claims.atomic = false;
  Dispatch take{.kernel = kernel("scatter_take"),
                .operands = {claims, site.read("x", 0), site.read("updates", 2)}};
  return steps.add(each_element(std::move(take), site.results[0], site.traits));
}

Dispatch combine_in_order(const LowerSite& site, const Scattering& scattering,
                          const Reduction& reduction, const Operand& target) {
  Dispatch dispatch = scatter_dispatch(site, "scatter_in_order", scattering, reduction);
  dispatch.operands.push_back(LowerSite::named(target, "y", Access::read_write));
  dispatch.params.emplace_back("column_count", scattering.columns);
  dispatch.params.emplace_back("column_stride", scattering.inner);
  dispatch.params.emplace_back("steps", scattering.steps);
  dispatch.workgroups = ceil_div(scattering.columns, 64);
  return dispatch;
}

Dispatch combine_all_at_once(const LowerSite& site, const Scattering& scattering,
                             const Reduction& reduction, const Operand& target) {
  Dispatch dispatch = scatter_dispatch(site, "scatter_atomic", scattering, reduction);
  Operand bits = LowerSite::named(target, "y", Access::read_write);
  bits.dtype = DType::u32;
  bits.atomic = true;
  dispatch.operands.push_back(bits);
  return one_each(std::move(dispatch), count(site.in(2).shape));
}

// Updates in the order of their places, then combined run by run, in chunks of so many.
Steps combine_sorted(const LowerSite& site, const Scattering& scattering,
                     const Reduction& reduction, const Operand& target) {
  constexpr int64_t kChunk = 32;
  const Dim updates = count(site.in(2).shape), chunks = ceil_div(updates, kChunk);
  const Operand places = site.temporary("places", {DType::u32, {updates}});
  Dispatch find = scatter_dispatch(site, "scatter_places", scattering, reduction);
  find.operands = {site.read("indices", 1), places};
  Steps steps = one_each(std::move(find), updates);
  const SortedKeys sorted = sort_keys(site, places);
  steps.append(sorted.steps);
  const Operand parts = site.temporary("parts", {unpacked(site.out().dtype), {chunks * Dim(2)}});
  for (const bool joins : {false, true}) {
    Dispatch combine = scatter_dispatch(site, "scatter_runs", scattering, reduction);
    combine.operands = {sorted.keys, sorted.order, site.read("updates", 2),
                        LowerSite::named(parts, "parts", Access::read_write),
                        LowerSite::named(target, "y", Access::read_write)};
    combine.kernel.includes = kernel("scatter_runs", {"numbers"}).includes;
    combine.constants = {{"CHUNK", kChunk}, {"JOINS", joins}};
    combine.params = {{"count", updates}, {"chunks", chunks}, {"half", sorted.first}};
    combine.workgroups = ceil_div(chunks, 64);
    combine.flags_errors = false;
    steps.add(std::move(combine));
  }
  return steps;
}

void scatter_reference(const ReferenceSite& site, const std::vector<int64_t>& places) {
  const Tensor &x = site.in(0), &updates = site.in(2);
  const Reduction& reduction = reduction_of(site.op.name, site.attrs);
  Tensor& y = site.out();
  copy_elements(x, 0, y, 0, x.count());
  if (replaces(reduction)) {
    for (size_t u = 0; u < places.size(); ++u)
      copy_elements(updates, static_cast<int64_t>(u), y, places[u], 1);
  } else if (is_float(x.dtype())) {  // rounded once, at the end
    std::vector<double> sums(static_cast<size_t>(x.count()));
    for (int64_t i = 0; i < x.count(); ++i) sums[size_t(i)] = x.at(i);
    for (size_t u = 0; u < places.size(); ++u) {
      double& sum = sums[static_cast<size_t>(places[u])];
      sum = reduction.floating(sum, updates.at(static_cast<int64_t>(u)));
    }
    for (int64_t i = 0; i < x.count(); ++i) y.set(i, sums[size_t(i)]);
  } else {
    const bool is_signed = is_signed_integer(x.dtype());
    for (size_t u = 0; u < places.size(); ++u) {
      const int64_t a = y.integer_at(places[u]), b = updates.integer_at(static_cast<int64_t>(u));
      y.set_integer(places[u], is_signed ? reduction.integer(a, b)
                                         : wrap(reduction.natural(uint64_t(a), uint64_t(b))));
    }
  }
}

Steps lower_scatter(const LowerSite& site, const Scattering& scattering) {
  const TensorType& y = site.out();
  const Reduction& reduction = reduction_of(site.node.op->name, site.attrs());
  if (reduction.grows && (y.dtype == DType::i64 || y.dtype == DType::u64))
    return site.on_host(text(site.node.op->name, " with ", reduction.name, " of ", y.dtype,
                             " may leave the 32 bits a device has"));
  const int64_t variant = choose_variant(site, scattering, reduction);
  if (variant == all_at_once && replaces(reduction)) return replace_all_at_once(site, scattering);
  const bool wide = needs_wide(site, reduction);
  const Operand target = wide ? site.temporary("y", {unpacked(y.dtype), y.shape}) : site.results[0];
  Steps steps;
  if (variant == sorted) {
    steps.add(copy_view(site.inputs[0], target, site.traits));
    steps.append(combine_sorted(site, scattering, reduction, target));
    if (wide) steps.add(copy_view(target, site.results[0], site.traits));
    return steps;
  }
  Dispatch dispatch = (variant == all_at_once ? combine_all_at_once : combine_in_order)(
      site, scattering, reduction, target);
  const ValueId source = site.inputs[0].value;
  if (!wide && is_whole(site, 0)) {
    steps.add(Copy{source, target.value});
    if (site.inputs[1].value != source && site.inputs[2].value != source)
      dispatch.in_place = {{source, target.value}};
  } else {
    steps.add(copy_view(site.inputs[0], target, site.traits));
  }
  steps.add(std::move(dispatch));
  if (wide) steps.add(copy_view(target, site.results[0], site.traits));
  return steps;
}

Gradients scatter_gradient(const GradientSite& site, const ScatterForm& form) {
  const Value x = site.in(0), indices = site.in(1), updates = site.in(2), dy = site.dy();
  const int64_t attr = site.attrs().get<int64_t>(form.attr);
  const auto gather = [&](Value from) { return form.gather(from, indices, attr); };
  const auto scatter = [&](Value into, Value values, const char* reduction) {
    return into.apply(*site.node.op, {into, indices, values},
                      {{form.attr, attr},
                       {"reduction", reduction},
                       {"deterministic", site.attrs().get<bool>("deterministic")}});
  };
  const std::string& reduction = site.attrs().get<std::string>("reduction");
  if (reduction == "add") return {dy, std::nullopt, gather(dy)};
  if (reduction == "max" || reduction == "min") {  // those that are it share the gradient
    const auto same = [&](Value a, Value b) { return cast(equal(a, b), dy.dtype()); };
    const Value x_is = same(x, site.y()), update_is = same(updates, gather(site.y()));
    const Value share = dy / scatter(x_is, update_is, "add");
    return {share * x_is, std::nullopt, gather(share) * update_is};
  }
  if (reduction == "mul") {  // the product of the other factors, of which one may be 0
    const Value zero = scalar(dy, 0), one = scalar(dy, 1);
    const auto is_zero = [&](Value v) { return equal(v, zero); };
    const auto rest = [&](Value v) { return where(is_zero(v), one, v); };
    const auto number = [&](Value v) { return cast(is_zero(v), dy.dtype()); };
    const Value all = scatter(rest(x), rest(updates), "mul"),
                zeros_of = scatter(number(x), number(updates), "add");
    const auto others = [&](Value v, Value product, Value zeros) {
      return where(equal(zeros, number(v)), product / rest(v), zero);
    };
    return {dy * others(x, all, zeros_of), std::nullopt,
            gather(dy) * others(updates, gather(all), gather(zeros_of))};
  }
  // Of duplicates only the last contributes. Scattering the updates' numbers shows which one that
  // is.
  const Dims& shape = updates.shape();
  const Value numbers = reshape(counting(x, count(shape), DType::i32), shape);
  const Value winners = scatter(zeros(numbers, x.shape()), numbers, "none");
  const Value won = cast(equal(gather(winners), numbers), dy.dtype());
  return {scatter(dy, zeros(updates, shape), "none"), std::nullopt, gather(dy) * won};
}

}  // namespace

void check_scatter(const InferSite& site) {
  const TensorType &x = site.in(0), &updates = site.in(2);
  require(updates.dtype == x.dtype, site.op.name, ": updates ", updates, " do not fit ", x);
  require(
      replaces(reduction_of(site.op.name, site.attrs)) || is_float(x.dtype) || is_integer(x.dtype),
      site.op.name, ": cannot ", site.attrs.get<std::string>("reduction"), ' ', x.dtype);
}

OpDef scatter_def(const ScatterForm& form) {
  return {
      .name = form.name,
      .family = "indexing",
      .inputs = {3, 3, {"x", "indices", "updates"}},
      .attrs = {{form.attr, 0}, {"reduction", "none"}, {"deterministic", false}},
      .infer = form.infer,
      .reference =
          [form](const ReferenceSite& site) { scatter_reference(site, form.places(site)); },
      .lower = [form](const LowerSite& site) { return lower_scatter(site, form.scattering(site)); },
      .gradient = [form](const GradientSite& site) { return scatter_gradient(site, form); },
      .variants = {{"scatter.kernel", 3}},
      .onnx = form.onnx,
  };
}

}  // namespace rlx
