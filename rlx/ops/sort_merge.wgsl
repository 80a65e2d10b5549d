// Merges neighbouring runs of each row, from one half of the buffers to the other. An element's place
// is its own in its run plus the number of elements of the other run before it; one per invocation.
// Constants: BLOCK. Of each run only the first `keep` matter.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let width = BLOCK << params.level;
  let source = params.level % 2u * params.count;
  let row_start = i / params.row_length * params.row_length;
  let run = i % params.row_length / width;
  let own = i % params.row_length % width;
  if (own >= params.keep) { return; }
  let key = load_keys(source + i);
  let index = load_order(source + i);

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
