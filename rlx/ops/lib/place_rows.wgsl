// Element i of [outer, index_count, inner] belongs to row indices[n] of [outer, length, inner].
// Params: inner, index_count, length. Includes: indices.

fn place_of(i: u32) -> u32 {
  let n = i / params.inner % params.index_count;
  let outer = i / params.inner / params.index_count;
  let row = index_within(i32(load_indices(n)), params.length);
  return (outer * params.length + row) * params.inner + i % params.inner;
}
