// y[i] = row indices[i] of w, decoded: four elements per invocation. Rows of w that another shard has are its own.
// Includes: indices, one that has weights4.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let quads = (params.k + 3u) / 4u;
  let i = workgroup_index(ids) * WORKGROUP + lane;
  let k = i % quads * 4u;
  let row = params.m_first + i / quads;
  if (row >= params.m_end) { return; }
  let w_row = index_within(i32(load_indices(row)), params.n);
  if (w_row < params.w_first || w_row >= params.w_end) { return; }
  let v = weights4(w_row, k);
  for (var j = 0u; j < min(4u, params.k - k); j++) { store_y(row * params.k + k + j, v[j]); }
}
