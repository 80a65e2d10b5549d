// Reduces rows to one element each, LANES lanes to a row. A long row comes in chunks, each an output
// of its own. The dispatch brings T, identity(), combine(),
// finish() and, for rows that come in several dispatches, merge() with what is there already. Includes: numbers.
// Constants: WORKGROUP and LANES, powers of two.

var<workgroup> partial: array<T, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let part = lane % LANES;  // of its row
  let output = params.first + workgroup_index(ids) * (WORKGROUP / LANES) + lane / LANES;
  var value = identity();
  if (output < params.end) {
    let start = output / params.chunks * params.row_length;
    let begin = output % params.chunks * params.chunk_length;
    let stop = min(begin + params.chunk_length, params.row_length);
    for (var i = begin + part; i < stop; i += LANES) { value = combine(value, load_x(start + i)); }
  }
  partial[lane] = value;
  for (var width = LANES / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (part < width) { partial[lane] = combine(partial[lane], partial[lane + width]); }
  }
  if (part == 0u && output < params.end) {
    let at = params.output_base + output;
    store_y(at, merge(at, finish(partial[lane])));
  }
}
