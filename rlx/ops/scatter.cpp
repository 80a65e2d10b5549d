// x with elements at the places that indices name replaced by updates, or combined with them. Of
// updates for one place the last one replaces; all of them are combined.
//   scatter(x, indices, updates, axis): rows along `axis`, by a list of indices.
//   scatter_elements(x, indices, updates, axis): for each update the element at its own
//     coordinates, but at its index along `axis`.
//   scatter_nd(x, indices, updates, batch_dims): blocks, by the tuples in the last dim of
//   `indices`;
//     the first batch_dims dims of all operands go along.

#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/scattering.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& scatter_op();
const OpDef& scatter_elements_op();
const OpDef& scatter_nd_op();

namespace {

void require_rank(const InferSite& site) {
  require(rank(site.in(2)) == rank(site.in(0)), site.op.name, ": updates ", site.in(2),
          " do not fit ", site.in(0));
}

// The result's type where the updates have these dims; `where` ends the message if they have not.
Types infer_scatter(const InferSite& site, const Dims& updates, const std::string& where) {
  for (size_t d = 0; d < updates.size(); ++d)
    site.equal(site.in(2).shape[d], updates[d],
               text("dim ", d, " of updates ", site.in(2), where, " at ", site.in(1)));
  return {site.in(0)};
}

// ---- Rows ----

Types infer_rows(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const size_t axis = axis_of(site);
  require(is_integer(indices.dtype) && rank(indices) == 1,
          "scatter: indices must be a list of integers, got ", indices);
  require_rank(site);
  check_scatter(site);
  Dims updates = x.shape;
  updates[axis] = indices.shape[0];
  return infer_scatter(site, updates, text(" into ", x));
}

std::vector<int64_t> places_of_rows(const ReferenceSite& site) {
  return row_places(site, axis_of(site));
}

Scattering scatter_rows(const LowerSite& site) {
  const TensorType& x = site.in(0);
  const size_t axis = axis_of(site);
  const Dim& steps = site.in(1).shape[0];
  const Dim inner = product(x.shape, axis + 1, x.shape.size());
  return {row_places(x, steps, axis), product(x.shape, 0, axis) * inner, steps, inner};
}

// ---- Elements ----

Types infer_elements(const InferSite& site) {
  check_element_indices(site, axis_of(site));
  require_rank(site);
  check_scatter(site);
  return infer_scatter(site, site.in(1).shape, "");
}

std::vector<int64_t> places_of_elements(const ReferenceSite& site) {
  return element_places(site, axis_of(site));
}

Scattering scatter_each(const LowerSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const size_t axis = axis_of(site);
  const Dim inner = product(indices.shape, axis + 1, x.shape.size());
  return {element_places(x, Layout::row_major(x.shape), indices, axis),
          product(indices.shape, 0, axis) * inner, indices.shape[axis], inner};
}

// ---- Blocks ----

Types infer_blocks(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1), &updates = site.in(2);
  const Tuples tuples = tuples_of(site.op.name, x, indices, site.attrs);
  const Dims shape = blocks_shape(x, indices, tuples);
  check_batch_dims(site, tuples);
  check_scatter(site);
  require(updates.shape.size() == shape.size(), "scatter_nd: updates ", updates, " must be ",
          TensorType{x.dtype, shape}, " for ", x, " at ", indices);
  return infer_scatter(site, shape, text(" into ", x));
}

std::vector<int64_t> places_of_blocks(const ReferenceSite& site) {
  return tuple_places(site,
                      tuples_of(site.op.name, site.in(0).type(), site.in(1).type(), site.attrs));
}

Scattering scatter_blocks(const LowerSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const Tuples tuples = tuples_of("scatter_nd", x, indices, site.attrs());
  const Dim inner = product(x.shape, tuples.batch + tuples.length, x.shape.size());
  return {tuple_places(x, indices, tuples), product(x.shape, 0, tuples.batch) * inner,
          product(indices.shape, tuples.batch, indices.shape.size() - 1), inner};
}

}  // namespace

const OpDef& scatter_op() {
  static const OpDef op =
      scatter_def({"scatter", "", "axis", infer_rows, places_of_rows, scatter_rows, gather});
  return op;
}
const OpDef& scatter_elements_op() {
  static const OpDef op =
      scatter_def({"scatter_elements", "ScatterElements", "axis", infer_elements,
                   places_of_elements, scatter_each, gather_elements});
  return op;
}
const OpDef& scatter_nd_op() {
  static const OpDef op = scatter_def({"scatter_nd", "ScatterND", "batch_dims", infer_blocks,
                                       places_of_blocks, scatter_blocks, gather_nd});
  return op;
}

Value scatter(Value x, Value indices, Value updates, int64_t axis, const std::string& reduction,
              bool deterministic) {
  return x.apply(scatter_op(), {x, indices, updates},
                 {{"axis", axis}, {"reduction", reduction}, {"deterministic", deterministic}});
}
Value scatter_elements(Value x, Value indices, Value updates, int64_t axis,
                       const std::string& reduction, bool deterministic) {
  return x.apply(scatter_elements_op(), {x, indices, updates},
                 {{"axis", axis}, {"reduction", reduction}, {"deterministic", deterministic}});
}
Value scatter_nd(Value x, Value indices, Value updates, const std::string& reduction,
                 int64_t batch_dims, bool deterministic) {
  return x.apply(
      scatter_nd_op(), {x, indices, updates},
      {{"batch_dims", batch_dims}, {"reduction", reduction}, {"deterministic", deterministic}});
}

}  // namespace rlx
