// Reductions over any axes, none given meaning all: sum, mean, reduce_max, reduce_min, prod, l1,
// l2, sum_square, mean_square, log_sum and logsumexp. Each is a row of the table below.

#include "rlx/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_reduction.h"
#include "rlx/ops/reduce_gradients.h"

namespace rlx {

std::vector<bool> reduced_axes(std::string_view op, const Attrs& attrs, const TensorType& x) {
  const Ints& axes = attrs.get<Ints>("axes");
  std::vector<bool> reduced(x.shape.size(), axes.empty());
  for (const int64_t axis : axes) {
    const size_t at = axis_of(op, axis, x);
    require(!reduced[at], op, ": axis ", axis, " is given twice");
    reduced[at] = true;
  }
  return reduced;
}

namespace {

// The least and the greatest number of a dtype, which a row without elements gives.
template <class T>
struct Ends {
  T lowest, highest;
};

template <class T>
using OfRow = T (*)(const std::vector<T>& row, const Ends<T>& ends);

enum class Takes { floats, numbers, all };

struct Kind {
  const char* name;
  const char* onnx;
  Takes takes;
  ReduceFormula formula;
  OfRow<double> floats = nullptr;
  OfRow<int64_t> integers = nullptr;
  OfRow<uint64_t> naturals = nullptr;  // unsigned integers and bools
  Gradients (*gradient)(const GradientSite&) = nullptr;
  Accuracy accuracy = {};
  Dim (*of_dims)(const Dim& a, const Dim& b) = nullptr;  // of extents, which the host knows
};

Types infer(const Kind& kind, const InferSite& site) {
  const TensorType& x = site.in(0);
  const bool taken = is_float(x.dtype) || (is_integer(x.dtype) && kind.takes != Takes::floats) ||
                     (x.dtype == DType::boolean && kind.takes == Takes::all);
  const char* const words[] = {"floats", "floats or integers", "floats, integers or bools"};
  require(taken, site.op.name, ": takes ", words[static_cast<size_t>(kind.takes)], ", got ", x);
  const std::vector<bool> reduced = reduced_axes(site.op.name, site.attrs, x);
  const bool keep = site.attrs.get<bool>("keep");
  TensorType result{x.dtype, {}};
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d])
      result.shape.push_back(x.shape[d]);
    else if (keep)
      result.shape.emplace_back(1);
  }
  return {result};
}

// ---- Reference ----

template <class T>
Ends<T> ends_of(DType dtype) {
  if constexpr (std::is_same_v<T, double>) return {-INFINITY, INFINITY};
  if (dtype == DType::u64) return {0, std::numeric_limits<T>::max()};
  if (dtype == DType::boolean) return {0, 1};
  Tensor ends(dtype, {2});  // a set that does not fit gives the nearest end
  ends.set(0, -INFINITY);
  ends.set(1, INFINITY);
  return {static_cast<T>(ends.integer_at(0)), static_cast<T>(ends.integer_at(1))};
}

// Where the elements lie that differ only in axes that are (or are not) reduced.
Shape offsets(const Shape& shape, const std::vector<bool>& reduced, bool inner) {
  const Shape strides = strides_of(shape);
  Shape result{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (reduced[d] != inner) continue;
    Shape more;
    for (const int64_t start : result)
      for (int64_t i = 0; i < shape[d]; ++i) more.push_back(start + i * strides[d]);
    result = std::move(more);
  }
  return result;
}

template <class T>
void reduce_rows(OfRow<T> of_row, const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const std::vector<bool> reduced = reduced_axes(site.op.name, site.attrs, x.type());
  const Shape starts = offsets(x.shape(), reduced, false),
              inner = offsets(x.shape(), reduced, true);
  const Ends<T> ends = ends_of<T>(x.dtype());
  std::vector<T> row(inner.size());
  for (size_t y = 0; y < starts.size(); ++y) {
    for (size_t i = 0; i < inner.size(); ++i) {
      if constexpr (std::is_same_v<T, double>)
        row[i] = x.at(starts[y] + inner[i]);
      else
        row[i] = static_cast<T>(x.integer_at(starts[y] + inner[i]));
    }
    if constexpr (std::is_same_v<T, double>)
      site.out().set(static_cast<int64_t>(y), of_row(row, ends));
    else
      site.out().set_integer(static_cast<int64_t>(y), static_cast<int64_t>(of_row(row, ends)));
  }
}

void reference(const Kind& kind, const ReferenceSite& site) {
  const DType dtype = site.in(0).dtype();
  if (is_float(dtype))
    reduce_rows<double>(kind.floats, site);
  else if (is_signed_integer(dtype))
    reduce_rows<int64_t>(kind.integers, site);
  else
    reduce_rows<uint64_t>(kind.naturals, site);
}

// Integers wrap: they are added and multiplied without a sign.
template <class T>
auto wrapping(T v) {
  if constexpr (std::is_same_v<T, double>)
    return v;
  else
    return static_cast<uint64_t>(v);
}

template <class T>
T magnitude(T v) {
  return v < T{0} ? static_cast<T>(-wrapping(v)) : v;
}

template <class T, class Map>
T total(const std::vector<T>& row, Map map) {
  auto sum = wrapping(T{0});
  for (const T v : row) sum += wrapping(map(v));
  return static_cast<T>(sum);
}

template <class T>
T highest_of(const std::vector<T>& row, const Ends<T>& ends) {
  T highest = ends.lowest;
  for (const T v : row) highest = highest >= v || highest != highest ? highest : v;
  return highest;
}

using Row = std::vector<double>;
using FloatEnds = Ends<double>;

double log_of_exponentials(const Row& row, const FloatEnds& ends) {
  const double highest = highest_of(row, ends);
  if (std::isinf(highest)) return highest;
  double sum = 0;
  for (const double v : row) sum += std::exp(v - highest);
  return highest + std::log(sum);
}

// All elements of a list of extents as one, so that what follows from shapes stays on the host.
std::optional<HostValue> symbolic(const Kind& kind, const InferSite& site) {
  constexpr size_t kMost = 16;
  const TensorType& x = site.in(0);
  if (!site.has_host(0) || x.dtype != DType::i64 || rank(x) > 1) return std::nullopt;
  const std::vector<Dim>& elements = site.host(0).elements;
  if (elements.empty() || elements.size() > kMost) return std::nullopt;
  Dim result = elements[0];
  for (size_t i = 1; i < elements.size(); ++i) result = kind.of_dims(result, elements[i]);
  return HostValue{site.attrs.get<bool>("keep") ? Shape(x.shape.size(), 1) : Shape{}, {result}};
}

// ---- The table ----

OpDef reduction(const Kind& kind) {
  OpDef op{
      .name = kind.name,
      .family = "reductions",
      .inputs = {1, 1, {"x"}},
      .attrs = {{"axes", Ints{}}, {"keep", false}},
      .infer = [kind](const InferSite& site) { return infer(kind, site); },
      .reference = [kind](const ReferenceSite& site) { reference(kind, site); },
      .lower = [kind](const LowerSite& site) { return lower_reduction(site, kind.formula); },
      .gradient = kind.gradient,
      .never_fails = true,
      .accuracy = kind.accuracy,
      .onnx = kind.onnx,
  };
  if (kind.of_dims) op.symbolic = [kind](const InferSite& site) { return symbolic(kind, site); };
  return op;
}

// One whose reference says the same of floats and integers.
template <class F>
OpDef reduction(Kind kind, F of_row) {
  kind.floats = of_row;
  kind.integers = of_row;
  kind.naturals = of_row;
  return reduction(kind);
}

constexpr const char* kMean = "select(v / n, make_nan(v), n == 0.0)";

}  // namespace

const OpDef& sum_op() {
  static const OpDef op = reduction({.name = "sum",
                                     .onnx = "ReduceSum",
                                     .takes = Takes::numbers,
                                     .formula = {Fold::sum},
                                     .gradient = gradient_of_sum,
                                     .of_dims = [](const Dim& a, const Dim& b) { return a + b; }},
                                    []<class T>(const std::vector<T>& row, const Ends<T>&) {
                                      return total(row, [](T v) { return v; });
                                    });
  return op;
}
const OpDef& mean_op() {
  static const OpDef op = reduction({.name = "mean",
                                     .onnx = "ReduceMean",
                                     .takes = Takes::floats,
                                     .formula = {Fold::sum, "v", kMean, true},
                                     .floats =
                                         [](const Row& row, const FloatEnds&) {
                                           return total(row, [](double v) { return v; }) /
                                                  static_cast<double>(row.size());
                                         },
                                     .gradient = gradient_of_mean});
  return op;
}
const OpDef& reduce_max_op() {
  static const OpDef op =
      reduction({.name = "reduce_max",
                 .onnx = "ReduceMax",
                 .takes = Takes::all,
                 .formula = {Fold::highest},
                 .gradient = gradient_of_extreme,
                 .of_dims = [](const Dim& a, const Dim& b) { return max(a, b); }},
                []<class T>(const std::vector<T>& row, const Ends<T>& ends) {
                  return highest_of(row, ends);
                });
  return op;
}
const OpDef& reduce_min_op() {
  static const OpDef op =
      reduction({.name = "reduce_min",
                 .onnx = "ReduceMin",
                 .takes = Takes::all,
                 .formula = {Fold::lowest},
                 .gradient = gradient_of_extreme,
                 .of_dims = [](const Dim& a, const Dim& b) { return min(a, b); }},
                []<class T>(const std::vector<T>& row, const Ends<T>& ends) {
                  T lowest = ends.highest;
                  for (const T v : row) lowest = lowest <= v || lowest != lowest ? lowest : v;
                  return lowest;
                });
  return op;
}
const OpDef& prod_op() {
  static const OpDef op = reduction({.name = "prod",
                                     .onnx = "ReduceProd",
                                     .takes = Takes::numbers,
                                     .formula = {Fold::product},
                                     .gradient = gradient_of_product,
                                     .of_dims = [](const Dim& a, const Dim& b) { return a * b; }},
                                    []<class T>(const std::vector<T>& row, const Ends<T>&) {
                                      auto product = wrapping(T{1});
                                      for (const T v : row) product *= wrapping(v);
                                      return static_cast<T>(product);
                                    });
  return op;
}
const OpDef& l1_op() {
  static const OpDef op = reduction(
      {.name = "l1",
       .onnx = "ReduceL1",
       .takes = Takes::numbers,
       .formula = {Fold::sum, "abs(v)"},
       .gradient = gradient_of_l1},
      []<class T>(const std::vector<T>& row, const Ends<T>&) { return total(row, magnitude<T>); });
  return op;
}
const OpDef& l2_op() {
  static const OpDef op =
      reduction({.name = "l2",
                 .onnx = "ReduceL2",
                 .takes = Takes::floats,
                 .formula = {Fold::sum, "v * v", "sqrt_f32(v)"},
                 .floats =
                     [](const Row& row, const FloatEnds&) {
                       return std::sqrt(total(row, [](double v) { return v * v; }));
                     },
                 .gradient = gradient_of_l2});
  return op;
}
const OpDef& sum_square_op() {
  static const OpDef op =
      reduction({.name = "sum_square",
                 .onnx = "ReduceSumSquare",
                 .takes = Takes::numbers,
                 .formula = {Fold::sum, "v * v"},
                 .gradient = gradient_of_sum_square},
                []<class T>(const std::vector<T>& row, const Ends<T>&) {
                  return total(row, [](T v) { return wrapping(v) * wrapping(v); });
                });
  return op;
}
const OpDef& mean_square_op() {
  static const OpDef op = reduction({.name = "mean_square",
                                     .onnx = "",
                                     .takes = Takes::floats,
                                     .formula = {Fold::sum, "v * v", kMean, true},
                                     .floats =
                                         [](const Row& row, const FloatEnds&) {
                                           return total(row, [](double v) { return v * v; }) /
                                                  static_cast<double>(row.size());
                                         },
                                     .gradient = gradient_of_mean_square});
  return op;
}
const OpDef& log_sum_op() {
  static const OpDef op = reduction(
      {.name = "log_sum",
       .onnx = "ReduceLogSum",
       .takes = Takes::floats,
       .formula = {Fold::sum, "v", "log_f32(v)"},
       .floats = [](const Row& row,
                    const FloatEnds&) { return std::log(total(row, [](double v) { return v; })); },
       .gradient = gradient_of_log_sum,
       .accuracy = {4, 5e-7}});
  return op;
}
const OpDef& logsumexp_op() {
  static const OpDef op =
      reduction({.name = "logsumexp",
                 .onnx = "ReduceLogSumExp",
                 .takes = Takes::floats,
                 .formula = {Fold::pair, "vec2<f32>(v, 1.0)",
                             "select(v.x + log_f32(v.y), v.x, is_inf(v.x) || is_nan(v.x))"},
                 .floats = log_of_exponentials,
                 .gradient = gradient_of_logsumexp,
                 .accuracy = {4, 5e-7}});
  return op;
}

namespace {

Value reduce(const OpDef& op, Value x, const Ints& axes, bool keep) {
  return x.apply(op, {x}, {{"axes", axes}, {"keep", keep}});
}

}  // namespace

Value sum(Value x, const Ints& axes, bool keep) { return reduce(sum_op(), x, axes, keep); }
Value mean(Value x, const Ints& axes, bool keep) { return reduce(mean_op(), x, axes, keep); }
Value reduce_max(Value x, const Ints& axes, bool keep) {
  return reduce(reduce_max_op(), x, axes, keep);
}
Value reduce_min(Value x, const Ints& axes, bool keep) {
  return reduce(reduce_min_op(), x, axes, keep);
}
Value prod(Value x, const Ints& axes, bool keep) { return reduce(prod_op(), x, axes, keep); }
Value l1(Value x, const Ints& axes, bool keep) { return reduce(l1_op(), x, axes, keep); }
Value l2(Value x, const Ints& axes, bool keep) { return reduce(l2_op(), x, axes, keep); }
Value sum_square(Value x, const Ints& axes, bool keep) {
  return reduce(sum_square_op(), x, axes, keep);
}
Value mean_square(Value x, const Ints& axes, bool keep) {
  return reduce(mean_square_op(), x, axes, keep);
}
Value log_sum(Value x, const Ints& axes, bool keep) { return reduce(log_sum_op(), x, axes, keep); }
Value logsumexp(Value x, const Ints& axes, bool keep) {
  return reduce(logsumexp_op(), x, axes, keep);
}

namespace {

void require_bools(const char* op, Value x) {
  require(x.dtype() == DType::boolean, op, ": takes bools, got ", x.type());
}

}  // namespace

Value reduce_any(Value x, const Ints& axes, bool keep) {
  require_bools("reduce_any", x);
  return reduce_max(x, axes, keep);
}
Value reduce_all(Value x, const Ints& axes, bool keep) {
  require_bools("reduce_all", x);
  return reduce_min(x, axes, keep);
}

}  // namespace rlx
