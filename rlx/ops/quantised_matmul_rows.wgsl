// y[row, n] = x[row] . w[n] for few rows: LANES invocations go along a row of w side by side, and each weight is decoded
// once for ROWS rows of x. Includes: one that has weights4, quantised. Constants: WORKGROUP, LANES, ROWS.

const COLUMNS = WORKGROUP / LANES;
var<workgroup> parts: array<f32, WORKGROUP * ROWS>;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m_end - params.m_first + ROWS - 1u) / ROWS;
  let group = workgroup_index(ids);
  let column = params.n_first + group / row_blocks * COLUMNS + lane / LANES;
  let first_row = params.m_first + group % row_blocks * ROWS;
  let expert = expert_of(first_row);
  let w_row = expert.row + column;
  // Beyond the edge, and where another shard has the weights, nothing is computed or stored.
  let is_mine = column < params.n_end && w_row >= params.w_first && w_row < params.w_end;
  var sums: array<f32, ROWS>;
  if (is_mine) {
    for (var k = lane % LANES * 4u; k < params.k; k += LANES * 4u) {
      let w = weights4(w_row, k);
      for (var r = 0u; r < ROWS; r++) { sums[r] += dot(x4(min(first_row + r, params.m_end - 1u), k), w); }
    }
  }
  for (var r = 0u; r < ROWS; r++) { parts[r * WORKGROUP + lane] = sums[r]; }
  workgroupBarrier();
  if (!is_mine || lane % LANES != 0u) { return; }
  for (var r = 0u; r < min(ROWS, params.m_end - first_row); r++) {
    var sum = 0.0;
    for (var l = 0u; l < LANES; l++) { sum += parts[r * WORKGROUP + lane + l]; }
    store_y((first_row + r) * params.n + column, select(0.0, sum, expert.exists));
  }
}
