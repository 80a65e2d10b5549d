// Element i belongs where its coordinates say, but for the one along an axis, which is indices[i].
// Params: view (with a stride of 0 for the axis), offset, axis_length, axis_stride. Includes: coordinates, indices.

fn place_of(i: u32) -> u32 {
  return offset_of(i) + index_within(i32(load_indices(i)), params.axis_length) * params.axis_stride;
}
