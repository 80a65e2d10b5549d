// The first half of a gru's step where the reset gate scales the state: gate z, and r times the state.
// Functions: activate_0. Includes: numbers, functions, recurrent.

fn update(at: Place) {
  var sums = vec2<f32>();
  let first = params.from_half + state_at(at);
  let rows = vec2<u32>(weights_at(at, 0u), weights_at(at, 1u));
  for (var k = 0u; k < params.hidden; k++) {
    sums += load_h(first + k) * vec2<f32>(load_r(rows.x + k), load_r(rows.y + k));
  }
  store_z(at.i, activate_0(at.d, sums.x + input_part(at, 0u) + recurrent_bias(at, 0u)));
  let r = activate_0(at.d, sums.y + input_part(at, 1u) + recurrent_bias(at, 1u));
  store_reset(at.i, r * load_h(params.from_half + at.i));
}

fn finish(at: Place) {}
