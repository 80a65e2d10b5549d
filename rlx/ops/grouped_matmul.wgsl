// y[row] = x[row] . w[expert[row]]: each invocation computes 4 rows of 4 columns. Rows of one expert,
// which a router often puts side by side, read its weights once.

const COLUMNS = 4u * WORKGROUP;

fn weights(expert: u32, k: u32, columns: vec4<u32>) -> vec4<f32> {
  let at = (expert * params.k + k) * params.n + columns;
  return vec4<f32>(load_w(at.x), load_w(at.y), load_w(at.z), load_w(at.w));
}

fn put(row: u32, column: u32, v: f32) {
  if (row < params.m && column < params.n) { store_y(row * params.n + column, v); }
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m + 3u) / 4u;
  let block = workgroup_index(ids);
  let first_row = block % row_blocks * 4u;
  let columns = block / row_blocks * COLUMNS + lane + vec4<u32>(0u, 1u, 2u, 3u) * WORKGROUP;
  if (columns.x >= params.n) { return; }
  // Beyond the edge the last row and column are computed again and not stored.
  let near = min(columns, vec4<u32>(params.n - 1u));
  let rows = min(first_row + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.m - 1u));
  let named = vec4<i32>(i32(load_expert(rows.x)), i32(load_expert(rows.y)), i32(load_expert(rows.z)),
                        i32(load_expert(rows.w)));
  let exists = (named >= vec4<i32>(0)) & (named < vec4<i32>(i32(params.experts)));
  for (var i = 0u; i < 4u; i++) {
    if (!exists[i]) { raise_flag(FLAG_EXPERT, named[i]); }
  }
  let expert = select(vec4<u32>(), vec4<u32>(named), exists);

  var sums: array<vec4<f32>, 4>;
  if (all(expert == expert.xxxx)) {
    for (var k = 0u; k < params.k; k++) {
      let w = weights(expert.x, k, near);
      for (var r = 0u; r < 4u; r++) { sums[r] += load_x(rows[r] * params.k + k) * w; }
    }
  } else {
    for (var r = 0u; r < min(params.m - first_row, 4u); r++) {
      for (var k = 0u; k < params.k; k++) {
        sums[r] += load_x(rows[r] * params.k + k) * weights(expert[r], k, near);
      }
    }
  }
  for (var r = 0u; r < 4u; r++) {
    let v = select(vec4<f32>(), sums[r], exists[r]);
    put(first_row + r, columns.x, v.x);
    put(first_row + r, columns.y, v.y);
    put(first_row + r, columns.z, v.z);
    put(first_row + r, columns.w, v.w);
  }
}
