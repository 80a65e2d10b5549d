// y = a . b with tiles of both in shared memory: a workgroup of 16 x 16 computes 64 x 64 elements,
// 4 x 4 of them in each invocation's registers.
// Constants: WORKGROUP = 256, LONG. Includes: product.
// Loads: a batch_end * m * k * n/64 in all, b batch_end * k * n * m/64 in all.

const TILE = 64u;
const DEPTH = 16u;
var<workgroup> tile_a: array<T, TILE * DEPTH>;           // by depth, then row
var<workgroup> tile_b: array<vec4<T>, TILE / 4u * DEPTH>;  // by depth, then column

fn put_row(batch: u32, row: u32, column: u32, v: vec4<T>) {
  put(batch, row, column, v.x);
  put(batch, row, column + 1u, v.y);
  put(batch, row, column + 2u, v.z);
  put(batch, row, column + 3u, v.w);
}

// Zero beyond the edges, which adds nothing.
fn element_a(first: u32, batch: u32, row: u32, k: u32) -> T {
  if (row >= params.m_end || k >= params.k_end) { return T(0); }
  return a_value(first + row * params.a_row + k * params.a_column, batch * params.m + row);
}
fn element_b(first: u32, batch: u32, k: u32, column: u32) -> T {
  if (column >= params.n_end || k >= params.k_end) { return T(0); }
  return b_value(first + k * params.b_row + column * params.b_column, batch * params.n + column);
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row_blocks = (params.m_end - params.m_first + TILE - 1u) / TILE;
  let column_blocks = (params.n_end - params.n_first + TILE - 1u) / TILE;
  let block = workgroup_index(ids);
  let batch = params.batch_first + block / (row_blocks * column_blocks);
  if (batch >= params.batch_end) { return; }
  let first_row = params.m_first + block % row_blocks * TILE;
  let first_column = params.n_first + block / row_blocks % column_blocks * TILE;
  let offsets = batch_offsets(batch);
  let lane_row = lane / 16u;
  let lane_column = lane % 16u;

  var sums0 = vec4<T>();
  var sums1 = vec4<T>();
  var sums2 = vec4<T>();
  var sums3 = vec4<T>();
  var totals: array<vec4<T>, 4>;  // of whole blocks, and what these have lost: see product.wgsl
  var rests: array<vec4<T>, 4>;
  for (var depth = params.k_first; depth < params.k_end; depth += DEPTH) {
    workgroupBarrier();  // the last tiles may still be read
    for (var part = 0u; part < 4u; part++) {
      let i = part * WORKGROUP + lane;
      tile_a[i % DEPTH * TILE + i / DEPTH] = element_a(offsets.x, batch, first_row + i / DEPTH, depth + i % DEPTH);
    }
    let k = depth + lane_row;
    let column = first_column + lane_column * 4u;
    tile_b[lane] = vec4<T>(element_b(offsets.y, batch, k, column), element_b(offsets.y, batch, k, column + 1u),
                               element_b(offsets.y, batch, k, column + 2u), element_b(offsets.y, batch, k, column + 3u));
    workgroupBarrier();
    for (var d = 0u; d < DEPTH; d++) {
      let b = tile_b[d * 16u + lane_column];
      let at = d * TILE + lane_row * 4u;
      sums0 += tile_a[at] * b;
      sums1 += tile_a[at + 1u] * b;
      sums2 += tile_a[at + 2u] * b;
      sums3 += tile_a[at + 3u] * b;
    }
    if (LONG && ((depth - params.k_first) % BLOCK == BLOCK - DEPTH || depth + DEPTH >= params.k_end)) {
      let blocks = array<vec4<T>, 4>(sums0, sums1, sums2, sums3);
      for (var r = 0u; r < 4u; r++) {
        let total = totals[r] + blocks[r];
        rests[r] += lost(totals[r], blocks[r], total);
        totals[r] = total;
      }
      sums0 = vec4<T>();
      sums1 = vec4<T>();
      sums2 = vec4<T>();
      sums3 = vec4<T>();
    }
  }
  if (LONG) {
    sums0 = with_rest(totals[0], rests[0]);
    sums1 = with_rest(totals[1], rests[1]);
    sums2 = with_rest(totals[2], rests[2]);
    sums3 = with_rest(totals[3], rests[3]);
  }

  let row = first_row + lane_row * 4u;
  let column = first_column + lane_column * 4u;
  put_row(batch, row, column, sums0);
  put_row(batch, row + 1u, column, sums1);
  put_row(batch, row + 2u, column, sums2);
  put_row(batch, row + 3u, column, sums3);
}
