// scatter(x, indices, updates, axis, reduction): x with its rows along `axis` at `indices` replaced
// by the rows of updates, or combined with them. Of duplicates the last one replaces; all of them
// are combined.

#include <algorithm>
#include <cmath>

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& scatter_op();

namespace {

struct Reduction {
  const char* name;
  double (*floating)(double a, double b);
  int64_t (*integer)(int64_t a, int64_t b);
  uint64_t (*natural)(uint64_t a, uint64_t b);  // where the sign matters
  const char *floating_wgsl, *integer_wgsl;
};

int64_t wrap(uint64_t bits) { return static_cast<int64_t>(bits); }

constexpr Reduction kReductions[] = {
    {"none", [](double, double b) { return b; }, [](int64_t, int64_t b) { return b; },
     [](uint64_t, uint64_t b) { return b; }, "b", "b"},
    {"add", [](double a, double b) { return a + b; },
     [](int64_t a, int64_t b) { return wrap(uint64_t(a) + uint64_t(b)); },
     [](uint64_t a, uint64_t b) { return a + b; }, "a + b", "a + b"},
    {"mul", [](double a, double b) { return a * b; },
     [](int64_t a, int64_t b) { return wrap(uint64_t(a) * uint64_t(b)); },
     [](uint64_t a, uint64_t b) { return a * b; }, "a * b", "a * b"},
    {"max", [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
     [](int64_t a, int64_t b) { return std::max(a, b); },
     [](uint64_t a, uint64_t b) { return std::max(a, b); },
     "select(select(max(a, b), b, is_nan(b)), a, is_nan(a))", "max(a, b)"},
    {"min", [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
     [](int64_t a, int64_t b) { return std::min(a, b); },
     [](uint64_t a, uint64_t b) { return std::min(a, b); },
     "select(select(min(a, b), b, is_nan(b)), a, is_nan(a))", "min(a, b)"},
};

const Reduction& reduction_of(const Attrs& attrs) {
  const std::string& name = attrs.get<std::string>("reduction");
  for (const Reduction& reduction : kReductions)
    if (name == reduction.name) return reduction;
  fail(ErrorKind::invalid_graph, "scatter: there is no reduction '", name,
       "'; it takes none, add, mul, max, min");
}
bool replaces(const Attrs& attrs) { return &reduction_of(attrs) == &kReductions[0]; }

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1), &updates = site.in(2);
  const size_t axis = axis_of("scatter", site.attrs.get<int64_t>("axis"), x);
  require(is_integer(indices.dtype) && rank(indices) == 1,
          "scatter: indices must be a list of integers, got ", indices);
  require(updates.dtype == x.dtype && rank(updates) == rank(x), "scatter: updates ", updates,
          " do not fit ", x);
  require(replaces(site.attrs) || is_float(x.dtype) || is_integer(x.dtype), "scatter: cannot ",
          site.attrs.get<std::string>("reduction"), ' ', x.dtype);
  for (size_t d = 0; d < x.shape.size(); ++d)
    site.equal(updates.shape[d], d == axis ? indices.shape[0] : x.shape[d],
               text("dim ", d, " of updates ", updates, " into ", x, " at ", indices));
  return {x};
}

// Calls f(first element in y, first in updates, how many) for runs of elements, in the order of the
// indices.
template <class F>
void for_each_update(const ReferenceSite& site, F f) {
  const Tensor &x = site.in(0), &indices = site.in(1);
  const size_t axis = axis_of("scatter", site.attrs.get<int64_t>("axis"), x.type());
  const ConcreteRows rows(x.shape(), axis);
  const int64_t inner = rows.stride, outer = inner == 0 ? 0 : rows.count / inner;
  for (int64_t n = 0; n < indices.count(); ++n) {
    const int64_t index = indices.integer_at(n), row = index < 0 ? index + rows.length : index;
    if (row < 0 || row >= rows.length)
      fail(ErrorKind::invalid_input, "scatter: index ", index, " is out of range for axis ", axis,
           " of ", x.type(), " (", rows.length, ")");
    for (int64_t o = 0; o < outer; ++o)
      f((o * rows.length + row) * inner, (o * indices.count() + n) * inner, inner);
  }
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &updates = site.in(2);
  const Reduction& reduction = reduction_of(site.attrs);
  Tensor& y = site.out();
  copy_elements(x, 0, y, 0, x.count());
  if (replaces(site.attrs)) {
    for_each_update(site, [&](int64_t at, int64_t from, int64_t count) {
      copy_elements(updates, from, y, at, count);
    });
  } else if (is_float(x.dtype())) {  // rounded once, at the end
    std::vector<double> sums(static_cast<size_t>(x.count()));
    for (int64_t i = 0; i < x.count(); ++i) sums[size_t(i)] = x.at(i);
    for_each_update(site, [&](int64_t at, int64_t from, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        sums[size_t(at + i)] = reduction.floating(sums[size_t(at + i)], updates.at(from + i));
    });
    for (int64_t i = 0; i < x.count(); ++i) y.set(i, sums[size_t(i)]);
  } else {
    const bool is_signed = is_signed_integer(x.dtype());
    for_each_update(site, [&](int64_t at, int64_t from, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t a = y.integer_at(at + i), b = updates.integer_at(from + i);
        y.set_integer(at + i, is_signed ? reduction.integer(a, b)
                                        : wrap(reduction.natural(uint64_t(a), uint64_t(b))));
      }
    });
  }
}

// Packed elements cannot be updated one by one, and halves would be rounded at each step.
bool needs_wide(const LowerSite& site) {
  const DType dtype = site.out().dtype;
  if (replaces(site.attrs())) return is_packed(dtype, site.traits);
  return bytes_of(dtype) < 4 && dtype != DType::boolean;
}

Steps lower(const LowerSite& site) {
  const TensorType &x = site.in(0), &y_type = site.out();
  const size_t axis = axis_of("scatter", site.attrs().get<int64_t>("axis"), x);
  const Reduction& reduction = reduction_of(site.attrs());
  const bool wide = needs_wide(site);
  const Operand target =
      wide ? site.temporary("y", {unpacked(y_type.dtype), y_type.shape}) : site.results[0];
  const Dim inner = product(x.shape, axis + 1, x.shape.size()),
            columns = product(x.shape, 0, axis) * inner;
  const std::string type = site.compute_type(y_type.dtype);
  Dispatch dispatch{
      .kernel = kernel("scatter", {"numbers"}),
      .operands = {site.read("indices", 1), site.read("updates", 2),
                   LowerSite::named(target, "y", Access::read_write)},
      .params = {{"column_count", columns},
                 {"inner", inner},
                 {"length", x.shape[axis]},
                 {"index_count", site.in(1).shape[0]}},
      .prelude = {text("fn combine(a: ", type, ", b: ", type, ") -> ", type, " { return ",
                       is_float(y_type.dtype) ? reduction.floating_wgsl : reduction.integer_wgsl,
                       "; }")},
      .workgroups = ceil_div(columns, 64),
      .flags_errors = true,
  };
  Steps steps;
  const ValueId source = site.inputs[0].value;
  if (!wide && is_whole(site, 0)) {
    steps.add(Copy{source, target.value});
    if (site.inputs[1].value != source && site.inputs[2].value != source)
      dispatch.in_place = {source, target.value};
  } else {
    steps.add(copy_view(site.inputs[0], target, site.traits));
  }
  steps.add(std::move(dispatch));
  if (wide) steps.add(copy_view(target, site.results[0], site.traits));
  return steps;
}

// 0, 1, .. count - 1: where equal elements go in a stable sort.
Value counting(Value like, const Dim& count) { return sort(zeros(like, {count})).indices; }

Gradients gradient(const GradientSite& site) {
  const Value x = site.in(0), indices = site.in(1), updates = site.in(2), dy = site.dy();
  const int64_t axis = site.attrs().get<int64_t>("axis");
  const std::string& reduction = site.attrs().get<std::string>("reduction");
  const Value gathered = gather(dy, indices, axis);
  if (reduction == "add") return {dy, std::nullopt, gathered};
  require(reduction == "none", "scatter: has no gradient with reduction ", reduction);
  const Value dx = scatter(dy, indices, zeros(updates, updates.shape()), axis);
  // Of duplicates only the last has a part in the result: the one whose number is found there.
  const size_t at = axis_of("scatter", axis, x.type());
  const Value numbers = cast(counting(x, indices.shape()[0]), DType::i32);
  const Value winners = scatter(zeros(numbers, {x.shape()[at]}), indices, numbers);
  const Value won = cast(equal(gather(winners, indices), numbers), dy.dtype());
  Dims column(x.shape().size(), 1);
  column[at] = indices.shape()[0];
  return {dx, std::nullopt, gathered * reshape(won, column)};
}

}  // namespace

const OpDef& scatter_op() {
  static const OpDef op{
      .name = "scatter",
      .family = "indexing",
      .inputs = {3, 3, {"x", "indices", "updates"}},
      .attrs = {{"axis", 0}, {"reduction", "none"}},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
  };
  return op;
}

Value scatter(Value x, Value indices, Value updates, int64_t axis, const std::string& reduction) {
  return x.apply(scatter_op(), {x, indices, updates}, {{"axis", axis}, {"reduction", reduction}});
}

}  // namespace rlx
