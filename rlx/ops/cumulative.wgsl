// Folds each chunk of each row from its start on, one lane to a chunk. The dispatch brings T,
// identity(), combine(), element(i) of x, put(i, v) into y and before(chunk), what lies before a chunk.
// Constants: EXCLUSIVE: an element is not part of its own result; REVERSE: from the end of the row;
// TOTALS: only what a whole chunk comes to is stored.
// Loads: x 1.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let chunk = workgroup_index(ids) * WORKGROUP + lane;
  if (chunk >= params.row_count * params.chunks) { return; }
  let row = chunk / params.chunks;
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;
  let begin = chunk % params.chunks * params.chunk_length;
  let stop = min(begin + params.chunk_length, params.row_length);
  var value = before(chunk);
  for (var i = begin; i < stop; i++) {
    let place = select(i, params.row_length - 1u - i, REVERSE);
    let at = start + place * params.stride;
    let folded = combine(value, element(at));
    if (!TOTALS) { put(at, select(folded, value, EXCLUSIVE)); }
    value = folded;
  }
  if (TOTALS) { put(chunk, value); }
}
