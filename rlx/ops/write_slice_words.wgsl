// The words of y that hold an element of the block, where elements are packed; one word per
// invocation, which keeps what the word holds besides.
// Constants: DIMS, PER_WORD. params.block holds (stride in y, extent in y, start, extent) of each dim.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let k = workgroup_index(ids) * WORKGROUP + lane;
  if (k == 0u && params.outside > 0u) { raise_flag(FLAG_BLOCK, i32(params.outside)); }
  let word = params.first_word + k;
  if (word >= params.end_word) { return; }
  var bits = 0u;
  for (var j = 0u; j < PER_WORD; j++) {
    let i = word * PER_WORD + j;
    if (i < params.count) { bits |= pack_y(element(i), j); }
  }
  store_word_y(word, bits);
}

fn element(i: u32) -> Element {
  var at = 0u;
  for (var d = 0u; d < DIMS; d++) {
    let dim = params.block[d];
    let inside = i / dim.x % dim.y - dim.z;  // wraps below the start
    if (inside >= dim.w) { return load_y(i); }
    at = at * dim.w + inside;
  }
  return load_update(at);
}
