// y[outer, n, inner] = x[outer, indices[n], inner]; one element per invocation.
// Rows of x outside [row_first, row_end) are another shard's.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let k = params.first + workgroup_index(ids) * WORKGROUP + lane;
  if (k >= params.end) { return; }
  let inner = k % params.inner;
  let n = k / params.inner % params.index_count;
  let outer = k / params.inner / params.index_count;

  let length = i32(params.length);
  let index = i32(load_indices(n));
  var row = select(index, index + length, index < 0);
  if (row < 0 || row >= length) {
    raise_flag_at(index);
    row = max(min(row, length - 1), 0);
  }
  if (u32(row) < params.row_first || u32(row) >= params.row_end) { return; }
  store_y(k, load_x((outer * params.length + u32(row)) * params.inner + inner));
}
