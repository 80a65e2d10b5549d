// Finds where the extreme of each row is, LANES lanes to a row. A long row comes in chunks, each of
// which finds its own; another dispatch then chooses among those. The dispatch brings key(v), a
// number that is the larger the further out the element is, and candidate(i), which is i itself or
// what was found before. Includes: numbers, fold or fold_alone.
// Constants: WORKGROUP and LANES, powers of two; LAST: of equals the last one counts.
// Loads: x 1.

struct T {
  key: u32,
  index: u32,
}

fn combine(a: T, b: T) -> T {
  if (b.index == NONE || (a.index != NONE && a.key > b.key)) { return a; }
  if (a.index == NONE || b.key > a.key) { return b; }
  if ((a.index < b.index) != LAST) { return a; }
  return b;
}
const NONE = 0xffffffffu;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let part = lane % LANES;
  let output = params.first + workgroup_index(ids) * (WORKGROUP / LANES) + lane / LANES;
  var best = T(0u, NONE);
  if (output < params.end) {
    let row = output / params.chunks;
    let start = row / params.stride * params.stride * params.row_length + row % params.stride;
    let begin = output % params.chunks * params.chunk_length;
    let stop = min(begin + params.chunk_length, params.candidates);
    for (var i = begin + part; i < stop; i += LANES) {
      let index = candidate(row * params.candidates + i, i);
      best = combine(best, T(key(load_x(start + index * params.stride)), index));
    }
  }
  best = fold_lanes(lane, best);
  if (part == 0u && output < params.end) {
    if (best.index == NONE) {  // a row without elements has no extreme
      raise_flag(FLAG_EMPTY, 0);
      best.index = 0u;
    }
    store_y(output, i32(best.index));
  }
}
