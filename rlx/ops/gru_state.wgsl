// The second half of that step: the candidate and the new state.
// Functions: activate_1. Includes: numbers, functions, recurrent, recurrent_state.

fn update(at: Place) {
  let before = load_h(params.from_half + at.i);
  var sum = 0.0;
  let first = state_at(at);
  let row = weights_at(at, 2u);
  for (var k = 0u; k < params.hidden; k++) { sum += load_reset(first + k) * load_r(row + k); }
  let candidate = activate_1(at.d, sum + input_part(at, 2u) + recurrent_bias(at, 2u));
  let z = load_z(at.i);
  let h = (1.0 - z) * candidate + z * before;
  put_state(at, h, h);
}
