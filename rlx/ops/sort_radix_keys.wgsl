// The key of each element and its place in its row, to the first half of the buffers; one element per invocation.
// Includes: sort_key. Prelude: sort_key(v).

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let row = i / params.row_length;
  let place = i % params.row_length;
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;
  store_keys(i, sort_key(load_x(start + place * params.stride)));
  store_order(i, place);
}
