// The first `keep` elements of each short row in order, and where they were; one lane to a row. Each
// is the next behind the one before it, by (key, index): nothing is moved, and no lane waits.
// Includes: sort_key. Prelude: sort_key(v).

const NONE = 0xffffffffu;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup_index(ids) * WORKGROUP + lane;
  if (row >= params.row_count) { return; }
  let outer = row / params.stride * params.stride;
  let inner = row % params.stride;
  let start = outer * params.row_length + inner;
  var last_key = 0u;
  var last = NONE;
  for (var place = 0u; place < params.keep; place++) {
    var best_key = 0u;
    var best = NONE;
    for (var i = 0u; i < params.row_length; i++) {
      let key = sort_key(load_x(start + i * params.stride));
      let is_left = last == NONE || key > last_key || (key == last_key && i > last);
      if (is_left && (best == NONE || key < best_key)) {
        best_key = key;
        best = i;
      }
    }
    last_key = best_key;
    last = best;
    let to = outer * params.keep + inner + place * params.stride;
    store_values(to, load_x(start + best * params.stride));
    store_indices(to, i32(best));
  }
}
