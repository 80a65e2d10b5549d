// One step of a plain recurrent net.
// Functions: activate_0. Includes: numbers, functions, recurrent, recurrent_state.

fn update(at: Place) {
  var sum = 0.0;
  let first = params.from_half + state_at(at);
  let row = weights_at(at, 0u);
  for (var k = 0u; k < params.hidden; k++) { sum += load_h(first + k) * load_r(row + k); }
  let h = activate_0(at.d, sum + input_part(at, 0u) + recurrent_bias(at, 0u));
  put_state(at, h, h);
}
