// y = a . b from registers alone: each invocation computes ROWS rows of 4 columns. Lanes lie along
// the columns, so that all of them read the same a and neighbours read neighbouring b.
// Constants: ROWS. Includes: product.

const COLUMNS = 4u * WORKGROUP;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m_end - params.m_first + ROWS - 1u) / ROWS;
  let column_blocks = (params.n_end - params.n_first + COLUMNS - 1u) / COLUMNS;
  let block = workgroup_index(ids);
  let batch = params.batch_first + block / (row_blocks * column_blocks);
  if (batch >= params.batch_end) { return; }
  let first_row = params.m_first + block % row_blocks * ROWS;
  let first_column = params.n_first + block / row_blocks % column_blocks * COLUMNS + lane;
  let offsets = batch_offsets(batch);

  // Beyond the edge the last row and column are computed again and not stored.
  var a_at: array<u32, ROWS>;
  for (var r = 0u; r < ROWS; r++) {
    a_at[r] = offsets.x + min(first_row + r, params.m_end - 1u) * params.a_row + params.k_first * params.a_column;
  }
  let columns = first_column + vec4<u32>(0u, 1u, 2u, 3u) * WORKGROUP;
  var b_at = offsets.y + min(columns, vec4<u32>(params.n_end - 1u)) * params.b_column + params.k_first * params.b_row;

  var sums: array<vec4<T>, ROWS>;
  for (var k = params.k_first; k < params.k_end; k++) {
    let b = vec4<T>(load_b(b_at.x), load_b(b_at.y), load_b(b_at.z), load_b(b_at.w));
    b_at += params.b_row;
    for (var r = 0u; r < ROWS; r++) {
      sums[r] += load_a(a_at[r]) * b;
      a_at[r] += params.a_column;
    }
  }

  for (var r = 0u; r < ROWS; r++) {
    put(batch, first_row + r, columns.x, sums[r].x);
    put(batch, first_row + r, columns.y, sums[r].y);
    put(batch, first_row + r, columns.z, sums[r].z);
    put(batch, first_row + r, columns.w, sums[r].w);
  }
}
