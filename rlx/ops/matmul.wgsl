// y = a . b from registers alone: each invocation computes ROWS rows of 4 columns. Lanes lie along
// the columns, so that all of them read the same a and neighbours read neighbouring b.
// Constants: ROWS, LONG. Includes: product.
// Loads: a batch_end * m/ROWS * ROWS * k * n/4/WORKGROUP * WORKGROUP in all, b batch_end * m/ROWS * k * n/4/WORKGROUP *
// WORKGROUP * 4 in all.

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

  let first_m = batch * params.m + first_row;
  let at_n = batch * params.n + columns;

  var sums: array<vec4<T>, ROWS>;
  var totals: array<vec4<T>, ROWS>;  // of whole blocks, and what these have lost: see product.wgsl
  var rests: array<vec4<T>, ROWS>;
  for (var k = params.k_first; k < params.k_end;) {
    let end = block_end(k);
    for (; k < end; k++) {
      let b = vec4<T>(b_value(b_at.x, at_n.x), b_value(b_at.y, at_n.y), b_value(b_at.z, at_n.z), b_value(b_at.w, at_n.w));
      b_at += params.b_row;
      for (var r = 0u; r < ROWS; r++) {
        sums[r] += a_value(a_at[r], first_m + r) * b;
        a_at[r] += params.a_column;
      }
    }
    if (LONG) {
      for (var r = 0u; r < ROWS; r++) {
        let total = totals[r] + sums[r];
        rests[r] += lost(totals[r], sums[r], total);
        totals[r] = total;
        sums[r] = vec4<T>();
      }
    }
  }
  if (LONG) {
    for (var r = 0u; r < ROWS; r++) { sums[r] = with_rest(totals[r], rests[r]); }
  }

  for (var r = 0u; r < ROWS; r++) {
    put(batch, first_row + r, columns.x, sums[r].x);
    put(batch, first_row + r, columns.y, sums[r].y);
    put(batch, first_row + r, columns.z, sums[r].z);
    put(batch, first_row + r, columns.w, sums[r].w);
  }
}
