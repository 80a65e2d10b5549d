// What a chunk of steps makes of one state that begins with 0, and how much is left of one that was there before; one
// lane to a chunk of a state. Constants: CHUNK; BACKWARDS: the state's gradient, from the last step of the chunk on.
// Includes: numbers, functions, selective_scan.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.carried) { return; }
  let channel = i % params.channels;
  let n = i / params.channels % params.states;
  let chunk = i / params.channels / params.states % params.chunks;
  let batch = i / params.channels / params.states / params.chunks;
  let begin = chunk * CHUNK;
  let length = min(params.steps - begin, CHUNK);
  let group = channel / params.group_channels;
  let a = load_a(channel * params.states + n);
  var total = 0.0;
  var h = 0.0;
  for (var s = 0u; s < length; s++) {
    let t = begin + select(s, length - 1u - s, BACKWARDS);
    let at = x_at(batch, t, channel);
    let delta = load_delta(at);
    let left = exp_f32(delta * a);
    let enters = load_b(b_at(batch, t, group, n)) * load_x(at);
    total += delta;
    h = select(left * h + delta * enters, left * (h + enters), BACKWARDS);
  }
  store_ends(params.part * params.carried + i, h);
  store_ends(params.carried + i, exp_f32(total * a));
}
