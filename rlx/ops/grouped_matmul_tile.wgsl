// y[row] = x[row] . w[expert[row]] for many rows, by tiles: 64 invocations read 32 rows of x and 32 columns of w, 32
// elements deep, into shared memory, and compute 4 x 4 results each. A tile is taken expert by expert: where rows are
// sorted that is one pass for nearly all tiles, and an expert's weights are read once for 32 rows of it.
// Constants: WORKGROUP = 64. Loads: x m * k * n/32 in all.

const TILE = 32u;
const QUADS = 8u;  // of elements along k, of columns
const NONE = 0xffffffffu;
var<workgroup> tile_x: array<vec4<f32>, TILE * QUADS>;  // by row, then quad along k
var<workgroup> tile_w: array<vec4<f32>, TILE * QUADS>;  // by depth, then quad of columns
var<workgroup> named: array<u32, TILE>;                 // the expert of each row
var<workgroup> least: u32;

fn x_at(row: u32, k: u32) -> f32 {
  if (row >= params.m || k >= params.k) { return 0.0; }
  return load_x(row * params.k + k);
}
fn w_at(expert: u32, k: u32, column: u32) -> f32 {
  if (k >= params.k || column >= params.n) { return 0.0; }
  return load_w((expert * params.k + k) * params.n + column);
}
fn put(row: u32, column: u32, v: f32) {
  if (row < params.m && column < params.n) { store_y(row * params.n + column, v); }
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m + TILE - 1u) / TILE;
  let group = workgroup_index(ids);
  let first_row = group % row_blocks * TILE;
  let first_column = group / row_blocks * TILE;
  if (first_column >= params.n) { return; }

  if (lane < TILE) {
    named[lane] = NONE;
    let row = first_row + lane;
    if (row < params.m) {
      let expert = i32(load_expert(row));
      if (expert >= 0 && expert < i32(params.experts)) {
        named[lane] = u32(expert);
      } else {
        raise_flag(FLAG_EXPERT, expert);
        for (var c = 0u; c < TILE; c++) { put(row, first_column + c, 0.0); }
      }
    }
  }
  workgroupBarrier();

  let column = first_column + lane % QUADS * 4u;
  var next = 0u;
  loop {
    if (lane == 0u) {
      var found = NONE;
      for (var r = 0u; r < TILE; r++) {
        if (named[r] >= next) { found = min(found, named[r]); }
      }
      least = found;
    }
    let expert = workgroupUniformLoad(&least);
    if (expert == NONE) { break; }

    var sums = array<vec4<f32>, 4>();
    for (var depth = 0u; depth < params.k; depth += 4u * QUADS) {
      workgroupBarrier();  // the last tiles may still be read
      for (var i = lane; i < TILE * QUADS; i += WORKGROUP) {
        let row = first_row + i / QUADS;
        let k = depth + i % QUADS * 4u;
        tile_x[i] = vec4<f32>(x_at(row, k), x_at(row, k + 1u), x_at(row, k + 2u), x_at(row, k + 3u));
        let deep = depth + i / QUADS;
        tile_w[i] = vec4<f32>(w_at(expert, deep, column), w_at(expert, deep, column + 1u),
                              w_at(expert, deep, column + 2u), w_at(expert, deep, column + 3u));
      }
      workgroupBarrier();
      for (var q = 0u; q < QUADS; q++) {
        let at = 4u * q * QUADS + lane % QUADS;
        let w0 = tile_w[at];
        let w1 = tile_w[at + QUADS];
        let w2 = tile_w[at + 2u * QUADS];
        let w3 = tile_w[at + 3u * QUADS];
        for (var r = 0u; r < 4u; r++) {
          let x = tile_x[(lane / QUADS * 4u + r) * QUADS + q];
          sums[r] += x.x * w0;
          sums[r] += x.y * w1;
          sums[r] += x.z * w2;
          sums[r] += x.w * w3;
        }
      }
    }
    for (var r = 0u; r < 4u; r++) {
      let at = lane / QUADS * 4u + r;
      if (named[at] != expert) { continue; }
      let row = first_row + at;
      put(row, column, sums[r].x);
      put(row, column + 1u, sums[r].y);
      put(row, column + 2u, sums[r].z);
      put(row, column + 3u, sums[r].w);
    }
    next = expert + 1u;
  }
}
