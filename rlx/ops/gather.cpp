// The elements of x that indices name; negative ones count from the end.
//   gather(x, indices, axis): rows along `axis`.
//   gather_elements(x, indices, axis): for each index the element at its own coordinates, but at
//   the
//     index along `axis`.
//   gather_nd(x, indices, batch_dims): blocks, by the tuples in the last dim of `indices`; the
//   first
//     batch_dims dims of both go along.

#include "rlx/codegen/elementwise.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_scatter.h"
#include "rlx/ops/places.h"
#include "rlx/ops/strided.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& gather_op();
const OpDef& gather_elements_op();
const OpDef& gather_nd_op();

namespace {

// ---- Rows ----

Types infer_rows(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  require(is_integer(indices.dtype), "gather: indices must be integers, got ", indices);
  const size_t axis = axis_of(site);
  Dims shape(x.shape.begin(), x.shape.begin() + static_cast<int64_t>(axis));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<int64_t>(axis) + 1, x.shape.end());
  return {{x.dtype, shape}};
}

void copy_rows(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &indices = site.in(1);
  const size_t axis = axis_of(site);
  const ConcreteRows rows(x.shape(), axis);
  const int64_t inner = rows.stride, outer = inner == 0 ? 0 : rows.count / inner;
  for (int64_t n = 0; n < indices.count(); ++n) {
    const int64_t row = checked_index(site, indices.integer_at(n), axis);
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(x, (o * rows.length + row) * inner, site.out(),
                    (o * indices.count() + n) * inner, inner);
  }
}

// A dim of a shape, by a constant index.
std::optional<HostValue> symbolic(const InferSite& site) {
  if (!site.has_host(0) || !site.has_host(1) || site.host(0).shape.size() != 1) return std::nullopt;
  const auto& elements = site.host(0).elements;
  HostValue value{site.host(1).shape, {}};
  for (const Dim& index : site.host(1).elements) {
    if (!index.is_number()) return std::nullopt;
    const int64_t at =
        index.number() + (index.number() < 0 ? static_cast<int64_t>(elements.size()) : 0);
    if (at < 0 || at >= static_cast<int64_t>(elements.size())) return std::nullopt;
    value.elements.push_back(elements[size_t(at)]);
  }
  return value;
}

// Where x is beyond what a device binds at once, each shard takes some rows of it, and where y is,
// too, some elements of that.
Steps lower_rows(const LowerSite& site) {
  const Dims &from = site.in(0).shape, &shape = site.out().shape;
  const size_t axis = axis_of(site);
  const Dim inner = product(from, axis + 1, from.size()), length = from[axis];
  const bool large_table = !fits_binding(site.in(0).dtype, from, site.traits) &&
                           product(from, 0, axis).is(1) && site.inputs[0].contiguous();
  if (!large_table)
    return gather_places(site, site.inputs[0],
                         row_places(site.in(0), count(site.in(1).shape), axis));
  const bool packed = is_packed(site.out().dtype, site.traits);
  const TensorType wide{packed ? unpacked(site.out().dtype) : site.out().dtype, shape};
  const bool large_result = !fits_binding(wide.dtype, shape, site.traits);

  Operand x = site.read("x", 0);
  Operand y = packed && large_result ? site.temporary("y", wide) : site.write("y");
  const auto bytes = [&](DType dtype) { return device_storage(dtype, site.traits).bytes; };
  const Dim elements = count(shape), per_table = window_elements(bytes(x.dtype), site.traits);
  const Dim rows = larger(floor_div(per_table, larger(inner, 1)), 1);
  const Dim per_result =
      large_result ? Dim(shard_elements(bytes(wide.dtype), site.traits)) : elements;
  const Dim tables = ceil_div(larger(length, 1), rows);
  const Dim repeat = large_result ? tables * ceil_div(elements, per_result) : tables;
  const Dim shard = shard_of(repeat);
  const Dim row_first = mod(shard, tables) * rows, row_end = smaller(length, row_first + rows);
  const Dim first = floor_div(shard, tables) * per_result,
            end = smaller(elements, first + per_result);
  x.window = {row_first * inner, (row_end - row_first) * inner};
  if (large_result) y.window = {first, end - first};
  Steps steps = Dispatch{
      .kernel = kernel("gather", {"indices"}),
      .operands = {x, site.read("indices", 1), y},
      .params = {{"first", first},
                 {"end", end},
                 {"inner", inner},
                 {"index_count", count(site.in(1).shape)},
                 {"length", length},
                 {"row_first", row_first},
                 {"row_end", row_end}},
      .workgroups = ceil_div(end - first, 64),
      .repeat = repeat,
      .flags_errors = true,
  };
  y.window.reset();
  if (packed && large_result) steps.add(copy_view(y, site.results[0], site.traits));
  return steps;
}

// Each row of dy is added to where it came from.
Gradients rows_gradient(const GradientSite& site) {
  const Value x = site.in(0), indices = site.in(1);
  const size_t axis = axis_of(site);
  Dims rows = x.shape();
  rows[axis] = count(indices.shape());
  return {scatter(zeros(x, x.shape()), reshape(indices, {count(indices.shape())}),
                  reshape(site.dy(), rows), static_cast<int64_t>(axis), "add"),
          std::nullopt};
}

// ---- Elements ----

Types infer_elements(const InferSite& site) {
  check_element_indices(site, axis_of(site));
  return {{site.in(0).dtype, site.in(1).shape}};
}

void copy_each(const ReferenceSite& site) {
  gather_places(site, element_places(site, axis_of(site)));
}

Steps lower_elements(const LowerSite& site) {
  return gather_places(
      site, flat(site.inputs[0]),
      element_places(site.in(0), site.inputs[0].layout, site.in(1), axis_of(site)));
}

Gradients elements_gradient(const GradientSite& site) {
  const Value x = site.in(0);
  return {scatter_elements(zeros(x, x.shape()), site.in(1), site.dy(),
                           site.attrs().get<int64_t>("axis"), "add"),
          std::nullopt};
}

// ---- Blocks ----

Types infer_blocks(const InferSite& site) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  const Tuples tuples = tuples_of("gather_nd", x, indices, site.attrs);
  check_batch_dims(site, tuples);
  return {{x.dtype, blocks_shape(x, indices, tuples)}};
}

void copy_blocks(const ReferenceSite& site) {
  const Tuples tuples = tuples_of("gather_nd", site.in(0).type(), site.in(1).type(), site.attrs);
  gather_places(site, tuple_places(site, tuples));
}

Steps lower_blocks(const LowerSite& site) {
  const Tuples tuples = tuples_of("gather_nd", site.in(0), site.in(1), site.attrs());
  return gather_places(site, site.inputs[0], tuple_places(site.in(0), site.in(1), tuples));
}

Gradients blocks_gradient(const GradientSite& site) {
  const Value x = site.in(0);
  return {scatter_nd(zeros(x, x.shape()), site.in(1), site.dy(), "add",
                     site.attrs().get<int64_t>("batch_dims")),
          std::nullopt};
}

struct GatherForm {
  const char *name, *onnx, *attr;
  Types (*infer)(const InferSite&);
  void (*reference)(const ReferenceSite&);
  Steps (*lower)(const LowerSite&);
  Gradients (*gradient)(const GradientSite&);
  std::optional<HostValue> (*symbolic)(const InferSite&) = nullptr;
};

OpDef gather_def(const GatherForm& form) {
  return {
      .name = form.name,
      .family = "indexing",
      .inputs = {2, 2, {"x", "indices"}},
      .attrs = {{form.attr, 0}},
      .infer = form.infer,
      .reference = form.reference,
      .lower = form.lower,
      .gradient = form.gradient,
      .symbolic = form.symbolic,
      .onnx = form.onnx,
  };
}

}  // namespace

const OpDef& gather_op() {
  static const OpDef op = gather_def(
      {"gather", "Gather", "axis", infer_rows, copy_rows, lower_rows, rows_gradient, symbolic});
  return op;
}
const OpDef& gather_elements_op() {
  static const OpDef op = gather_def({"gather_elements", "GatherElements", "axis", infer_elements,
                                      copy_each, lower_elements, elements_gradient});
  return op;
}
const OpDef& gather_nd_op() {
  static const OpDef op = gather_def({"gather_nd", "GatherND", "batch_dims", infer_blocks,
                                      copy_blocks, lower_blocks, blocks_gradient});
  return op;
}

Value gather(Value x, Value indices, int64_t axis) {
  return x.apply(gather_op(), {x, indices}, {{"axis", axis}});
}
Value gather_elements(Value x, Value indices, int64_t axis) {
  return x.apply(gather_elements_op(), {x, indices}, {{"axis", axis}});
}
Value gather_nd(Value x, Value indices, int64_t batch_dims) {
  return x.apply(gather_nd_op(), {x, indices}, {{"batch_dims", batch_dims}});
}

}  // namespace rlx
