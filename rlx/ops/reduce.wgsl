// Reduces rows to one element each, LANES lanes to a row. A long row comes in chunks, each an output
// of its own. The dispatch brings T, identity(), map_element(), combine(), result_of() and, for rows that
// come in several dispatches, merge() with what is there already.
// Includes: numbers, fold or fold_alone. Constants: WORKGROUP and LANES, powers of two; LONG.
// Loads: x 1.

const BLOCK = 32u;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let part = lane % LANES;  // of its row
  let output = params.first + workgroup_index(ids) * (WORKGROUP / LANES) + lane / LANES;
  var state = identity();
  if (output < params.end) {
    let start = output / params.chunks * params.row_length;
    let begin = output % params.chunks * params.chunk_length;
    let stop = min(begin + params.chunk_length, params.row_length);
    // By blocks of blocks, as lib/sums.wgsl says.
    var near = identity();
    var far = identity();
    var blocks = 0u;
    for (var i = begin + part; i < stop;) {
      let end = select(stop, i + min(stop - i, BLOCK * LANES), LONG);
      var block = identity();
      for (; i < end; i += LANES) { block = combine(block, map_element(load_x(start + i))); }
      near = combine(near, block);
      blocks += 1u;
      if (LONG && blocks % BLOCK == 0u) {
        far = combine(far, near);
        near = identity();
      }
      if (LONG && blocks % (BLOCK * BLOCK) == 0u) {
        state = combine(state, far);
        far = identity();
      }
    }
    state = combine(state, combine(far, near));
  }
  state = fold_lanes(lane, state);
  if (part == 0u && output < params.end) {
    let at = params.output_base + output;
    store_y(at, merge(at, result_of(state, output)));
  }
}
