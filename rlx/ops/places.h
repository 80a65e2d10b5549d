// Where the indices of gather and scatter point, in WGSL as place_of(i) and on the host as a list.
#pragma once

#include "rlx/lower/site.h"

namespace rlx {

// What a kernel needs to have place_of(i) over an operand named indices.
struct Places {
  std::vector<KernelText> includes;
  std::vector<Constant> constants;
  std::vector<Param> params;

  void add_to(Dispatch& dispatch) const;
};

// Rows of x along an axis, by a list of indices; element i is one of [outer, indices, inner].
Places row_places(const TensorType& x, const Dim& index_count, size_t axis);
std::vector<int64_t> row_places(const ReferenceSite& site, size_t axis);

// Elements by their coordinates, but for the one along `axis`; `layout` is that of x.
void check_element_indices(const InferSite& site, size_t axis);  // operand 1 into operand 0
Places element_places(const TensorType& x, const Layout& layout, const TensorType& indices,
                      size_t axis);
std::vector<int64_t> element_places(const ReferenceSite& site, size_t axis);

// Blocks of x by tuples of indices, the last dim of `indices`, after some leading dims that both
// have.
struct Tuples {
  size_t batch, length;  // leading dims, and indices in a tuple
};
Tuples tuples_of(std::string_view op, const TensorType& x, const TensorType& indices,
                 const Attrs& attrs);  // of which one is batch_dims
Dims blocks_shape(const TensorType& x, const TensorType& indices, const Tuples& tuples);
void check_batch_dims(const InferSite& site, const Tuples& tuples);
Places tuple_places(const TensorType& x, const TensorType& indices, const Tuples& tuples);
std::vector<int64_t> tuple_places(const ReferenceSite& site, const Tuples& tuples);

// An index counted from the start, or an Error that names it and the limit.
int64_t checked_index(const ReferenceSite& site, int64_t index, size_t axis);

// One dispatch that reads x at the places.
Dispatch gather_places(const LowerSite& site, const Operand& x, const Places& places);
void gather_places(const ReferenceSite& site, const std::vector<int64_t>& places);

}  // namespace rlx
