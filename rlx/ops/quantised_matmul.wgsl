// y = x . w with w decoded as it is read: each invocation takes one row of w and 4 rows of x, so that
// a weight is decoded once for 4 products.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m_end - params.m_first + 3u) / 4u;
  let group = workgroup_index(ids);
  let column = params.n_first + group / row_blocks * WORKGROUP + lane;
  if (column >= params.n_end) { return; }
  let row = params.m_first + group % row_blocks * 4u;
  // Beyond the last row that row is computed again and not stored.
  let x_at = min(row + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.m_end - 1u)) * params.k;
  let w_at = column * params.k;

  var sums = vec4<f32>();
  for (var first = 0u; first < params.k; first += params.block) {
    var block_sums = vec4<f32>();
    for (var i = first; i < first + params.block; i++) {
      let x = vec4<f32>(load_x(x_at.x + i), load_x(x_at.y + i), load_x(x_at.z + i), load_x(x_at.w + i));
      block_sums += x * f32(load_w(w_at + i));
    }
    sums += block_sums * load_scales((w_at + first) / params.block);
  }
  for (var r = 0u; r < min(4u, params.m_end - row); r++) {
    store_y((row + r) * params.n + column, sums[r]);
  }
}
