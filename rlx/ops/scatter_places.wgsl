// Where each update goes. Functions: place_of.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let u = workgroup_index(ids) * WORKGROUP + lane;
  if (u >= params.count) { return; }
  store_places(u, place_of(u));
}
