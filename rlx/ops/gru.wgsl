// One step of a gru whose reset gate scales what the candidate has summed: gates z, r, h.
// Functions: activate_0..1. Includes: numbers, functions, recurrent, recurrent_state.

fn update(at: Place) {
  let before = load_h(params.from_half + at.i);
  var sums = vec3<f32>();
  let first = params.from_half + state_at(at);
  let rows = vec3<u32>(weights_at(at, 0u), weights_at(at, 1u), weights_at(at, 2u));
  for (var k = 0u; k < params.hidden; k++) {
    sums += load_h(first + k) * vec3<f32>(load_r(rows.x + k), load_r(rows.y + k), load_r(rows.z + k));
  }
  for (var gate = 0u; gate < 3u; gate++) { sums[gate] += recurrent_bias(at, gate); }
  let z = activate_0(at.d, sums.x + input_part(at, 0u));
  let r = activate_0(at.d, sums.y + input_part(at, 1u));
  let candidate = activate_1(at.d, input_part(at, 2u) + r * sums.z);
  let h = (1.0 - z) * candidate + z * before;
  put_state(at, h, h);
}
