// sort(x, axis, descending): the elements of each row in order, and where each was. Stable.
// top_k(x, k, axis, largest): the k largest (or smallest) of them, the most extreme first; of
// equals the one with the lower index comes first. NaN is the largest.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_sort.h"
#include "rlx/ops/sorting.h"

namespace rlx {

const OpDef& sort_op();
const OpDef& top_k_op();

namespace {

Dim whole_row(const InferSite& site) { return site.in(0).shape[axis_of(site)]; }

Dim given_k(const InferSite& site) {
  require(site.attrs.has("k") != site.has(1),
          "top_k: takes k as attribute or as operand, and one of them");
  if (!site.has(1)) return site.attrs.get<int64_t>("k");
  const TensorType& type = site.in(1);
  require(is_integer(type.dtype) && count(type.shape).is(1), "top_k: k must be one integer, got ",
          type);
  return site.host(1).elements[0];
}

Dim checked_k(const InferSite& site) {
  const TensorType& x = site.in(0);
  const size_t axis = axis_of(site);
  const Dim k = given_k(site), &length = x.shape[axis];
  const std::string what =
      text("k ", k, " is out of range for axis ", axis, " of ", x, " (", length, ")");
  site.at_most(0, k, what);
  site.at_most(k, length, what);
  return k;
}

// What the two differ in: the attribute that says whether the largest come first, and how many
// elements of a row are kept.
struct OrderForm {
  const char *name, *descending;
  bool descending_otherwise;
  Dim (*keep)(const InferSite&);
};

OpDef order_def(const OrderForm& form) {
  return {
      .name = form.name,
      .family = "indexing",
      .inputs = {1, 1, {"x"}},
      .results = {2, 2, {"values", "indices"}},
      .attrs = {{"axis", -1}, {form.descending, form.descending_otherwise}},
      .infer = [form](const InferSite& site) -> Types {
        TensorType values = site.in(0);
        require(values.dtype != DType::c64, form.name, ": complex numbers have no order, got ",
                values);
        values.shape[axis_of(site)] = form.keep(site);
        return {values, i64(values.shape)};
      },
      .reference =
          [form](const ReferenceSite& site) {
            sort_reference(site, {axis_of(site), site.attrs.get<bool>(form.descending)});
          },
      .lower =
          [form](const LowerSite& site) {
            return lower_sort(site, {axis_of(site), site.attrs().get<bool>(form.descending)});
          },
      .gradient = [](const GradientSite& site) { return sort_gradient(site, axis_of(site)); },
      .never_fails = true,
      .variants = {sort_variants()},
  };
}

TopK results(Value values) { return {values, values.of(1)}; }

}  // namespace

const OpDef& sort_op() {
  static const OpDef op = order_def({"sort", "descending", false, whole_row});
  return op;
}

const OpDef& top_k_op() {
  static const OpDef op = [] {
    OpDef top_k = order_def({"top_k", "largest", true, checked_k});
    top_k.inputs = {1, 2, {"x", "k"}};
    top_k.attrs.push_back({"k", {}, true});
    top_k.host_inputs = {1};
    top_k.onnx = "TopK";
    return top_k;
  }();
  return op;
}

TopK sort(Value x, int64_t axis, bool descending) {
  return results(x.apply(sort_op(), {x}, {{"axis", axis}, {"descending", descending}}));
}
Value argsort(Value x, int64_t axis, bool descending) { return sort(x, axis, descending).indices; }

TopK top_k(Value x, int64_t k, int64_t axis, bool largest) {
  return results(x.apply(top_k_op(), {x}, {{"k", k}, {"axis", axis}, {"largest", largest}}));
}
TopK top_k(Value x, Value k, int64_t axis, bool largest) {
  return results(x.apply(top_k_op(), {x, k}, {{"axis", axis}, {"largest", largest}}));
}

}  // namespace rlx
