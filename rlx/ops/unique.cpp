// unique(x): the different elements of x, or its different slices along an axis, in order or as
// they come; where the first of each is, which of them each of x is, and how many there are of
// each.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/views.h"

namespace rlx {
namespace {

std::optional<size_t> axis_in(const Attrs& attrs, const TensorType& x) {
  if (!attrs.has("axis")) return std::nullopt;
  return axis_of("unique", attrs.get<int64_t>("axis"), x);
}

Types infer(const InferSite& site) {
  const TensorType& x = site.in(0);
  require(x.dtype != DType::c64, "unique: complex numbers have no order, got ", x);
  const std::optional<size_t> axis = axis_in(site.attrs, x);
  const Dim kept = site.fresh();
  TensorType values{x.dtype, {kept}};
  if (axis) {
    values.shape = x.shape;
    values.shape[*axis] = kept;
  }
  const Dim all = axis ? x.shape[*axis] : count(x.shape);
  return {values, i64({kept}), i64({all}), i64({kept})};
}

// What is compared: x as `count` slices of `size` elements each.
struct Slices {
  const Tensor& x;
  int64_t count = 0, size = 1, inner = 1;

  Slices(const Tensor& tensor, std::optional<size_t> axis) : x(tensor), count(tensor.count()) {
    if (!axis) return;
    count = x.shape()[*axis];
    for (size_t d = 0; d < x.shape().size(); ++d) {
      if (d != *axis) size *= x.shape()[d];
      if (d > *axis) inner *= x.shape()[d];
    }
  }
  // Element k of slice i of a tensor with `slices` of them.
  int64_t at(int64_t i, int64_t k, int64_t slices) const {
    return k / inner * inner * slices + i * inner + k % inner;
  }
};

// -1, 0 or 1. NaN is the largest, and equal to itself.
int order_of(const Tensor& x, int64_t a, int64_t b) {
  if (is_float(x.dtype())) {
    const double v = x.at(a), w = x.at(b);
    if (std::isnan(v) || std::isnan(w)) return int(std::isnan(v)) - int(std::isnan(w));
    return v < w ? -1 : v > w ? 1 : 0;
  }
  const int64_t v = x.integer_at(a), w = x.integer_at(b);
  if (v == w) return 0;
  const bool less =
      is_signed_integer(x.dtype()) ? v < w : static_cast<uint64_t>(v) < static_cast<uint64_t>(w);
  return less ? -1 : 1;
}
int order_of(const Slices& slices, int64_t a, int64_t b) {
  for (int64_t k = 0; k < slices.size; ++k) {
    const int order =
        order_of(slices.x, slices.at(a, k, slices.count), slices.at(b, k, slices.count));
    if (order != 0) return order;
  }
  return 0;
}

// The numbers of equal slices together, the first of each group its lowest.
std::vector<std::vector<int64_t>> groups_of(const Slices& slices) {
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return order_of(slices, a, b) < 0; });
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t i : order) {
    if (groups.empty() || order_of(slices, groups.back().front(), i) != 0) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

void reference(const ReferenceSite& site) {
  const Tensor& x = site.in(0);
  const std::optional<size_t> axis = axis_in(site.attrs, x.type());
  const Slices slices(x, axis);
  std::vector<std::vector<int64_t>> groups = groups_of(slices);
  if (!site.attrs.get<bool>("sorted")) std::sort(groups.begin(), groups.end());

  const int64_t kept = static_cast<int64_t>(groups.size());
  Shape shape{kept};
  if (axis) {
    shape = x.shape();
    shape[*axis] = kept;
  }
  Tensor values(x.dtype(), shape), indices(DType::i64, {kept}), counts(DType::i64, {kept});
  Tensor inverse(DType::i64, {slices.count});
  for (int64_t g = 0; g < kept; ++g) {
    const std::vector<int64_t>& group = groups[static_cast<size_t>(g)];
    for (int64_t k = 0; k < slices.size; ++k)
      copy_elements(x, slices.at(group.front(), k, slices.count), values, slices.at(g, k, kept), 1);
    indices.set_integer(g, group.front());
    counts.set_integer(g, static_cast<int64_t>(group.size()));
    for (const int64_t i : group) inverse.set_integer(i, g);
  }
  site.results = {values, indices, inverse, counts};
}

}  // namespace

const OpDef& unique_op() {
  static const OpDef op{
      .name = "unique",
      .family = "search",
      .inputs = {1, 1, {"x"}},
      .results = {4, 4, {"values", "indices", "inverse", "counts"}},
      .attrs = {{"axis", {}, true}, {"sorted", true}},
      .infer = infer,
      .reference = reference,
      .host_reason = "how many elements unique gives depends on the data",
      .gradient_reason = "which elements are equal does not change with them, it jumps",
      .onnx = "Unique",
  };
  return op;
}

Unique unique(Value x, std::optional<int64_t> axis, bool sorted) {
  Attrs attrs{{"sorted", sorted}};
  if (axis) attrs.set("axis", *axis);
  const Value values = x.apply(unique_op(), {x}, attrs);
  return {values, values.of(1), values.of(2), values.of(3)};
}

}  // namespace rlx
