// Which of the results each slice is.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let slice = workgroup_index(ids) * WORKGROUP + lane;
  if (slice >= params.count) { return; }
  store_inverse(slice, i32(load_places(load_groups(slice))));
}
