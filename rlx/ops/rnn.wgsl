// One step of a plain recurrent net.
// Functions: activate_0. Includes: numbers, functions, recurrent, recurrent_state.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.states) { return; }
  let at = place_of(i);
  if (stays(at)) { return; }
  var sum = 0.0;
  let first = params.from_half + state_at(at);
  let row = weights_at(at, 0u);
  for (var k = 0u; k < params.hidden; k++) { sum += load_h(first + k) * load_r(row + k); }
  let h = activate_0(at.d, sum + input_part(at, 0u) + recurrent_bias(at, 0u));
  put_state(at, h, h);
}
