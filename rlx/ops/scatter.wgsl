// y[outer, indices[n], inner] = combine(it, updates[outer, n, inner]) for each n in order.
// One invocation per column walks over all updates, so that duplicates meet in order without atomics.
// Prelude: combine(a, b). Includes: numbers.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup_index(ids) * WORKGROUP + lane;
  if (column >= params.column_count) { return; }
  let inner = column % params.inner;
  let outer = column / params.inner;
  let length = i32(params.length);
  for (var n = 0u; n < params.index_count; n++) {
    var row = i32(load_indices(n));
    if (row < 0) { row += length; }
    if (row < 0 || row >= length) {
      raise_flag();
      row = max(min(row, length - 1), 0);
    }
    let at = (outer * params.length + u32(row)) * params.inner + inner;
    store_y(at, combine(load_y(at), load_updates((outer * params.index_count + n) * params.inner + inner)));
  }
}
