// y[outer, n, inner] = x[outer, indices[n], inner]; one element per invocation.
// Rows of x outside [row_first, row_end) are another shard's. Includes: indices.
// Loads: x 1 for each y.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let k = params.first + workgroup_index(ids) * WORKGROUP + lane;
  if (k >= params.end) { return; }
  let inner = k % params.inner;
  let n = k / params.inner % params.index_count;
  let outer = k / params.inner / params.index_count;

  let row = index_within(i32(load_indices(n)), params.length);
  if (row < params.row_first || row >= params.row_end) { return; }
  store_y(k, load_x((outer * params.length + row) * params.inner + inner));
}
