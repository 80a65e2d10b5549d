// Drops elements by their random numbers, four to an invocation. The dispatch brings key().
// Includes: philox.
// Loads: x 1.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let n = workgroup_index(ids) * WORKGROUP + lane;
  if (n * 4u >= params.count) { return; }
  let words = philox(vec4<u32>(n, 0u, 0u, 0u), key());
  for (var k = 0u; k < 4u; k++) {
    let i = n * 4u + k;
    if (i >= params.count) { return; }
    store_y(i, select(0.0, load_x(i) * params.scale, unit_uniform(words[k]) >= params.ratio));
  }
}
