#include "rlx/ops/places.h"

#include "rlx/codegen/each_element.h"
#include "rlx/codegen/render.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/views.h"

namespace rlx {

void Places::add_to(Dispatch& dispatch) const {
  dispatch.kernel.includes.insert(dispatch.kernel.includes.end(), includes.begin(), includes.end());
  dispatch.constants.insert(dispatch.constants.end(), constants.begin(), constants.end());
  dispatch.params.insert(dispatch.params.end(), params.begin(), params.end());
  dispatch.flags_errors = true;
}

int64_t checked_index(const ReferenceSite& site, int64_t index, size_t axis) {
  const Tensor& x = site.in(0);
  const int64_t length = x.shape()[axis], at = index < 0 ? index + length : index;
  if (at < 0 || at >= length)
    fail(ErrorKind::invalid_input, site.op.name, ": index ", index, " is out of range for axis ",
         axis, " of ", x.type(), " (", length, ")");
  return at;
}

Places row_places(const TensorType& x, const Dim& index_count, size_t axis) {
  return {{library("indices"), library("place_rows")},
          {},
          {{"inner", product(x.shape, axis + 1, x.shape.size())},
           {"index_count", index_count},
           {"length", x.shape[axis]}}};
}

std::vector<int64_t> row_places(const ReferenceSite& site, size_t axis) {
  const Tensor& indices = site.in(1);
  const ConcreteRows rows(site.in(0).shape(), axis);
  const int64_t inner = rows.stride, outer = inner == 0 ? 0 : rows.count / inner;
  std::vector<int64_t> places;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t n = 0; n < indices.count(); ++n) {
      const int64_t row = checked_index(site, indices.integer_at(n), axis);
      for (int64_t i = 0; i < inner; ++i) places.push_back((o * rows.length + row) * inner + i);
    }
  return places;
}

void check_element_indices(const InferSite& site, size_t axis) {
  const TensorType &x = site.in(0), &indices = site.in(1);
  require(is_integer(indices.dtype) && rank(indices) == rank(x), site.op.name, ": indices ",
          indices, " do not fit ", x);
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (d != axis)
      site.at_most(indices.shape[d], x.shape[d],
                   text("dim ", d, " of indices ", indices, " is larger than that of ", x));
}

Places element_places(const TensorType& x, const Layout& layout, const TensorType& indices,
                      size_t axis) {
  Layout along = layout;
  along.strides[axis] = 0;
  const ViewDims view = collapse(indices.shape, along);
  Dims entries;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    entries.push_back(view.shape[d]);
    entries.push_back(view.strides[d]);
  }
  if (entries.empty()) entries = {1, 0};
  return {{library("indices"), library("coordinates"), library("place_elements")},
          {{"DIMS", static_cast<int64_t>(entries.size() / 2)}},
          {{"view", entries},
           {"offset", layout.offset},
           {"axis_length", x.shape[axis]},
           {"axis_stride", layout.strides[axis]}}};
}

std::vector<int64_t> element_places(const ReferenceSite& site, size_t axis) {
  const Tensor& indices = site.in(1);
  const Shape &shape = indices.shape(), strides = strides_of(site.in(0).shape());
  std::vector<int64_t> places;
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t rest = i, place = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      const int64_t coordinate =
          d == axis ? checked_index(site, indices.integer_at(i), axis) : rest % shape[d];
      place += coordinate * strides[d];
    }
    places.push_back(place);
  }
  return places;
}

Tuples tuples_of(std::string_view op, const TensorType& x, const TensorType& indices,
                 const Attrs& attrs) {
  const int64_t batch_dims = attrs.get<int64_t>("batch_dims");
  require(is_integer(indices.dtype) && rank(indices) > 0 && indices.shape.back().is_number(), op,
          ": indices must be tuples of integers, got ", indices);
  require(0 <= batch_dims && batch_dims < rank(indices) && batch_dims <= rank(x), op,
          ": batch_dims ", batch_dims, " is out of range for ", x, " and ", indices);
  const int64_t length = indices.shape.back().number();
  require(1 <= length && batch_dims + length <= rank(x), op, ": tuples of ", length,
          " indices after ", batch_dims, " batch dims do not fit ", x, " (rank ", rank(x), ")");
  return {static_cast<size_t>(batch_dims), static_cast<size_t>(length)};
}

Dims blocks_shape(const TensorType& x, const TensorType& indices, const Tuples& tuples) {
  Dims shape(indices.shape.begin(), indices.shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + static_cast<int64_t>(tuples.batch + tuples.length),
               x.shape.end());
  return shape;
}

void check_batch_dims(const InferSite& site, const Tuples& tuples) {
  for (size_t d = 0; d < tuples.batch; ++d)
    site.equal(site.in(0).shape[d], site.in(1).shape[d],
               text("batch dim ", d, " of ", site.in(0), " and of ", site.in(1)));
}

Places tuple_places(const TensorType& x, const TensorType& indices, const Tuples& tuples) {
  const size_t inner = tuples.batch + tuples.length;
  const Dims strides = strides_of(x.shape);
  Dims axes;
  for (size_t d = tuples.batch; d < inner; ++d) {
    axes.push_back(x.shape[d]);
    axes.push_back(strides[d]);
  }
  return {{library("indices"), library("place_tuples")},
          {{"TUPLE", static_cast<int64_t>(tuples.length)}},
          {{"axes", axes},
           {"inner", product(x.shape, inner, x.shape.size())},
           {"tuples", product(indices.shape, tuples.batch, indices.shape.size() - 1)},
           {"batch_stride", product(x.shape, tuples.batch, x.shape.size())}}};
}

std::vector<int64_t> tuple_places(const ReferenceSite& site, const Tuples& tuples) {
  const Tensor &x = site.in(0), &indices = site.in(1);
  const Shape strides = strides_of(x.shape());
  const int64_t length = static_cast<int64_t>(tuples.length);
  int64_t batches = 1, inner = 1;
  for (size_t d = 0; d < tuples.batch; ++d) batches *= x.shape()[d];
  for (size_t d = tuples.batch + tuples.length; d < strides.size(); ++d) inner *= x.shape()[d];
  const int64_t count = indices.count() / length;
  std::vector<int64_t> places;
  for (int64_t t = 0; t < count; ++t) {
    int64_t place = t / (count / batches) * (x.count() / batches);
    for (int64_t k = 0; k < length; ++k) {
      const size_t axis = tuples.batch + static_cast<size_t>(k);
      place += checked_index(site, indices.integer_at(t * length + k), axis) * strides[axis];
    }
    for (int64_t i = 0; i < inner; ++i) places.push_back(place + i);
  }
  return places;
}

Dispatch gather_places(const LowerSite& site, const Operand& x, const Places& places) {
  Dispatch dispatch{.kernel = kernel("gather_places"),
                    .operands = {LowerSite::named(x, "x", Access::read), site.read("indices", 1)}};
  places.add_to(dispatch);
  dispatch.kernel.name = site.node.op->name;
  return each_element(std::move(dispatch), site.results[0], site.traits);
}

void gather_places(const ReferenceSite& site, const std::vector<int64_t>& places) {
  for (size_t i = 0; i < places.size(); ++i)
    copy_elements(site.in(0), places[i], site.out(), static_cast<int64_t>(i), 1);
}

}  // namespace rlx
