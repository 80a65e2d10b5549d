// One step of an lstm: gates i, o, f, c of a unit and its new state.
// Constants: COUPLED. Functions: activate_0..2, peephole_at. Includes: numbers, functions,
// recurrent, recurrent_state.

fn update(at: Place) {
  var sums = vec4<f32>();
  let first = params.from_half + state_at(at);
  let rows = vec4<u32>(weights_at(at, 0u), weights_at(at, 1u), weights_at(at, 2u), weights_at(at, 3u));
  for (var k = 0u; k < params.hidden; k++) {
    sums += load_h(first + k) * vec4<f32>(load_r(rows.x + k), load_r(rows.y + k), load_r(rows.z + k),
                                          load_r(rows.w + k));
  }
  for (var gate = 0u; gate < 4u; gate++) { sums[gate] += input_part(at, gate) + recurrent_bias(at, gate); }
  let before = load_c(at.i);
  let p = at.d * 3u * params.hidden + at.unit;
  let entering = activate_0(at.d, sums.x + peephole_at(p) * before);
  var kept = 1.0 - entering;
  if (!COUPLED) { kept = activate_0(at.d, sums.z + peephole_at(p + 2u * params.hidden) * before); }
  let c = kept * before + entering * activate_1(at.d, sums.w);
  let leaving = activate_0(at.d, sums.y + peephole_at(p + params.hidden) * c);
  let h = leaving * activate_2(at.d, c);
  store_c(at.i, c);
  put_state(at, h, h);
}
