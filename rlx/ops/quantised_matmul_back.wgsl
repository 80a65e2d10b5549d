// y[row] = sum over n of x[row, n] * w[n], w as its rows lie: each invocation has four elements of ROWS rows of y.
// Includes: one that has weights4, quantised. Constants: ROWS, ADDS (to what earlier shards have summed).

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let quads = (params.k + 3u) / 4u;
  let i = workgroup_index(ids) * WORKGROUP + lane;
  let k = i % quads * 4u;
  let first_row = params.m_first + i / quads * ROWS;
  if (first_row >= params.m_end) { return; }
  let expert = expert_of(first_row);
  let begin = max(expert.row, params.w_first);
  let end = select(begin, min(expert.row + params.n, params.w_end), expert.exists);
  var sums: array<vec4<f32>, ROWS>;
  for (var w_row = begin; w_row < end; w_row++) {
    let w = weights4(w_row, k);
    for (var r = 0u; r < ROWS; r++) {
      sums[r] += load_x(min(first_row + r, params.m_end - 1u) * params.n + w_row - expert.row) * w;
    }
  }
  for (var r = 0u; r < min(ROWS, params.m_end - first_row); r++) {
    for (var j = 0u; j < min(4u, params.k - k); j++) {
      let at = (first_row + r) * params.k + k + j;
      put(at, sums[r][j]);
    }
  }
}
