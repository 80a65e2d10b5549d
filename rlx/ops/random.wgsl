// Random numbers, four to an invocation. The dispatch brings key() and four(), which makes four elements
// of four words. Includes: numbers, functions, trig, philox.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let n = workgroup_index(ids) * WORKGROUP + lane;
  if (n * 4u >= params.count) { return; }
  let values = four(philox(vec4<u32>(n, 0u, 0u, 0u), key()));
  for (var k = 0u; k < 4u; k++) {
    if (n * 4u + k < params.count) { store_y(n * 4u + k, values[k]); }
  }
}
