// Merges neighbouring runs of each row, from one half of the buffers to the other. An element's place
// is its own in its run plus the number of elements of the other run before it; one per invocation.
// Constants: BLOCK; FEW: fewer are kept than a block has. Of each run only the first `keep` matter.

struct Place {
  row: u32,
  run: u32,
  own: u32,  // in its run
}

// Where invocation i has its element; of few that are kept, there are no others.
fn place_of(i: u32, width: u32) -> Place {
  if (!FEW) { return Place(i / params.row_length, i % params.row_length / width, i % params.row_length % width); }
  let runs = (params.row_length + width - 1u) / width;
  return Place(i / params.keep / runs, i / params.keep % runs, i % params.keep);
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let width = BLOCK << params.level;
  let place = place_of(workgroup_index(ids) * WORKGROUP + lane, width);
  let own = place.own;
  let run = place.run;
  if (place.row >= params.row_count || own >= params.keep || run * width + own >= params.row_length) { return; }
  let source = params.level % 2u * params.count;
  let row_start = place.row * params.row_length;
  let here = source + row_start + run * width + own;
  let key = load_keys(here);
  let index = load_order(here);

  let other = (run ^ 1u) * width;
  var low = 0u;
  var high = 0u;
  if (other < params.row_length) { high = min(min(width, params.row_length - other), params.keep); }
  while (low < high) {
    let middle = (low + high) / 2u;
    let at = source + row_start + other + middle;
    let other_key = load_keys(at);
    if (other_key < key || (other_key == key && load_order(at) < index)) { low = middle + 1u; } else { high = middle; }
  }
  if (own + low >= params.keep) { return; }
  let to = params.count - source + row_start + run / 2u * 2u * width + own + low;
  store_keys(to, key);
  store_order(to, index);
}
