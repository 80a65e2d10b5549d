// y = x . w for many rows, by tiles: 64 invocations decode 32 rows of w and read 32 rows of x, 32 elements deep, into
// shared memory, and compute 4 x 4 results each. Rows that name their expert are taken expert by expert: where they are
// sorted that is one pass for nearly all tiles. Includes: one that has weights4, quantised. Constants: WORKGROUP = 64.

const TILE = 32u;
const QUADS = 8u;  // of elements, along k
const NONE = 0xffffffffu;
var<workgroup> tile_x: array<vec4<f32>, TILE * QUADS>;
var<workgroup> tile_w: array<vec4<f32>, TILE * QUADS>;
var<workgroup> matrices: array<u32, TILE>;  // the row of w that each row's begins with
var<workgroup> least: u32;

fn put(row: u32, column: u32, matrix: u32, v: f32) {
  let w_row = matrix + column;
  if (column < params.n_end && w_row >= params.w_first && w_row < params.w_end) { store_y(row * params.n + column, v); }
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m_end - params.m_first + TILE - 1u) / TILE;
  let group = workgroup_index(ids);
  let first_row = params.m_first + group % row_blocks * TILE;
  let first_column = params.n_first + group / row_blocks * TILE;
  if (first_column >= params.n_end) { return; }

  if (lane < TILE) {
    matrices[lane] = NONE;
    let row = first_row + lane;
    if (row < params.m_end) {
      let expert = expert_of(row);
      if (expert.exists) { matrices[lane] = expert.row; }
      for (var c = 0u; c < TILE && !expert.exists; c++) { put(row, first_column + c, 0u, 0.0); }
    }
  }
  workgroupBarrier();

  var next = 0u;
  var sums: array<vec4<f32>, 4>;
  loop {
    if (lane == 0u) {
      var found = NONE;
      for (var r = 0u; r < TILE; r++) {
        if (matrices[r] >= next) { found = min(found, matrices[r]); }
      }
      least = found;
    }
    let matrix = workgroupUniformLoad(&least);
    if (matrix == NONE) { break; }

    sums = array<vec4<f32>, 4>();
    for (var depth = 0u; depth < params.k; depth += 4u * QUADS) {
      workgroupBarrier();  // the last tiles may still be read
      for (var i = lane; i < TILE * QUADS; i += WORKGROUP) {
        let k = depth + i % QUADS * 4u;
        let row = first_row + i / QUADS;
        let w_row = matrix + first_column + i / QUADS;
        var x = vec4<f32>();
        var w = vec4<f32>();
        if (k < params.k && row < params.m_end) { x = x4(row, k); }
        let is_bound = first_column + i / QUADS < params.n_end && w_row >= params.w_first && w_row < params.w_end;
        if (k < params.k && is_bound) { w = weights4(w_row, k); }
        tile_x[i] = x;
        tile_w[i] = w;
      }
      workgroupBarrier();
      for (var q = 0u; q < QUADS; q++) {
        let at = lane % 8u * QUADS + q;
        let w0 = tile_w[at];
        let w1 = tile_w[at + 8u * QUADS];
        let w2 = tile_w[at + 16u * QUADS];
        let w3 = tile_w[at + 24u * QUADS];
        for (var r = 0u; r < 4u; r++) {
          let x = tile_x[(lane / 8u * 4u + r) * QUADS + q];
          sums[r] += vec4<f32>(dot(x, w0), dot(x, w1), dot(x, w2), dot(x, w3));
        }
      }
    }
    for (var r = 0u; r < 4u; r++) {
      let at = lane / 8u * 4u + r;
      if (matrices[at] != matrix) { continue; }
      for (var c = 0u; c < 4u; c++) { put(first_row + at, first_column + lane % 8u + 8u * c, matrix, sums[r][c]); }
    }
    next = matrix + 1u;
  }
}
