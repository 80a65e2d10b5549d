// Each update claims its place; the last one keeps it. Functions: place_of.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let u = workgroup_index(ids) * WORKGROUP + lane;
  if (u >= params.count) { return; }
  atomicMax(&buffer_claims[place_of(u)], u + 1u);
}
