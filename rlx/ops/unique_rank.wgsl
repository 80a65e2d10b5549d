// How many slices come before each, compared element by element: equal ones have the same number. A slice to a lane.
// Params: slices of size elements, inner of which lie side by side. Includes: sort_key. Prelude: sort_key(v).

fn key_at(slice: u32, k: u32) -> u32 {
  return sort_key(load_x(k / params.inner * params.inner * params.slices + slice * params.inner + k % params.inner));
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let slice = workgroup_index(ids) * WORKGROUP + lane;
  if (slice >= params.slices) { return; }
  var before = 0u;
  for (var other = 0u; other < params.slices; other++) {
    for (var k = 0u; k < params.size; k++) {
      let a = key_at(other, k);
      let b = key_at(slice, k);
      if (a == b) { continue; }
      before += select(0u, 1u, a < b);
      break;
    }
  }
  store_ranks(slice, before);
}
