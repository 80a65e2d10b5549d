// The second half of that step: the candidate and the new state.
// Functions: activate_1. Includes: numbers, functions, recurrent, recurrent_state.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.states) { return; }
  let at = place_of(i);
  if (stays(at)) { return; }
  let before = load_h(params.from_half + i);
  var sum = 0.0;
  let first = state_at(at);
  let row = weights_at(at, 2u);
  for (var k = 0u; k < params.hidden; k++) { sum += load_reset(first + k) * load_r(row + k); }
  let candidate = activate_1(at.d, sum + input_part(at, 2u) + recurrent_bias(at, 2u));
  let z = load_z(i);
  let h = (1.0 - z) * candidate + z * before;
  put_state(at, h, h);
}
