// unique(x): the different elements of x, or its different slices along an axis, in order or as
// they come; where the first of each is, which of them each of x is, and how many there are of
// each.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/shards.h"
#include "rlx/ops/cumulative.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_search.h"
#include "rlx/ops/sorting.h"
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

// ---- Lowering ----

constexpr int64_t kWorkgroup = 64;

// What is sorted: the elements, or of slices how many come before each.
Operand sorted_by(const LowerSite& site, std::optional<size_t> axis, Steps& steps) {
  if (!axis) return site.inputs[0];
  const Rows rows(site.in(0).shape, *axis);
  const Operand ranks = site.temporary("ranks", {DType::u32, {rows.length}});
  steps.add(Dispatch{
      .kernel = kernel("unique_rank", {"sort_key"}),
      .operands = {site.read("x", 0), ranks},
      .params = {{"slices", rows.length}, {"size", rows.count}, {"inner", rows.stride}},
      .prelude = {sort_key_function(site, site.in(0).dtype)},
      .workgroups = ceil_div(rows.length, kWorkgroup),
  });
  return LowerSite::named(ranks, "x", Access::read);
}

// Equal ones lie side by side once they are sorted, in the order they had: the first of each group
// is where a key differs from the one before. Groups that are wanted as they come are sorted by
// their first.
Steps lower(const LowerSite& site) {
  const TensorType& x = site.in(0);
  const bool too_large = is_concrete(x.shape) && !fits_binding(DType::u32, x.shape, site.traits);
  if (site.traits.on_host() || too_large)
    return site.on_host("how many elements unique gives depends on the data");
  const std::optional<size_t> axis = axis_in(site.attrs(), x);
  const Dim all = site.out(2).shape[0], kept = site.out(1).shape[0];
  const auto numbers = [&](const char* name, const Dim& length) {
    return site.temporary(name, {DType::u32, {length}});
  };
  const auto read = [](const Operand& operand, const char* name) {
    return LowerSite::named(operand, name, Access::read);
  };
  Steps steps;
  SortedKeys sorted = sort_keys(site, sorted_by(site, axis, steps));
  steps.append(std::move(sorted.steps));
  const Operand counts = numbers("counts", all + 1);
  steps.add(Dispatch{
      .kernel = kernel("unique_first"),
      .operands = {sorted.keys, counts},
      .params = {{"count", all}, {"sorted", sorted.first}},
      .workgroups = ceil_div(all + 1, kWorkgroup),
  });
  Counted counted = bind_total(site, counts, all, kept);
  steps.append(std::move(counted.steps));

  const Operand groups = numbers("groups", all), firsts = numbers("firsts", kept),
                begins = numbers("begins", kept), places = numbers("places", kept);
  steps.add(Dispatch{
      .kernel = kernel("unique_groups"),
      .operands = {sorted.order, counted.starts, groups, firsts, begins},
      .params = {{"count", all}, {"sorted", sorted.first}},
      .workgroups = ceil_div(all, kWorkgroup),
  });
  Dispatch take{
      .kernel = kernel("unique_take"),
      .operands = {read(firsts, "firsts"), read(begins, "begins"), site.write("indices", 1),
                   site.write("counts", 3), places},
      .params = {{"count", all}, {"kept", kept}},
      .prelude = {"fn group_at(place: u32) -> u32 { return place; }"},
      .workgroups = ceil_div(kept, kWorkgroup),
  };
  if (!site.attrs().get<bool>("sorted")) {
    SortedKeys by_first = sort_keys(site, read(firsts, "x"));
    steps.append(std::move(by_first.steps));
    take.operands.push_back(by_first.order);
    take.params.emplace_back("sorted", by_first.first);
    take.prelude = {"fn group_at(place: u32) -> u32 { return load_order(params.sorted + place); }"};
  }
  steps.add(std::move(take));
  steps.add(Dispatch{
      .kernel = kernel("unique_inverse"),
      .operands = {read(places, "places"), read(groups, "groups"), site.write("inverse", 2)},
      .params = {{"count", all}},
      .workgroups = ceil_div(all, kWorkgroup),
  });
  const Dim inner = axis ? Rows(x.shape, *axis).stride : Dim(1);
  steps.add(each_element({.kernel = kernel("unique_values"),
                          .operands = {site.read("x", 0), read(site.results[1], "indices")},
                          .params = {{"count", all}, {"kept", kept}, {"inner", inner}}},
                         site.results[0], site.traits));
  return steps;
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
      .lower = lower,
      .never_fails = true,
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
