// What products with blocks share: four elements of x, and which matrix of w a row of x meets.
// Constants: GROUPED (each row names its expert), RAGGED. Params: n (rows of one matrix of w), k, experts.
// Includes: blocks; experts or expert_alone.

fn x4(row: u32, k: u32) -> vec4<f32> {
  let at = row * params.k + k;
  if (!RAGGED || k + 4u <= params.k) { return vec4<f32>(load_x(at), load_x(at + 1u), load_x(at + 2u), load_x(at + 3u)); }
  var v = vec4<f32>();
  for (var j = 0u; j < params.k - k; j++) { v[j] = load_x(at + j); }
  return v;
}
struct Expert {
  row: u32,  // of w, that its matrix begins with
  exists: bool,
}
