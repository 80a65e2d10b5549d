// The gradients of x, delta and a, of which a chunk has its own part; one lane to a chunk of a channel. Of each state
// the steps of the chunk are taken again forwards, then its gradient backwards. `out` has the gradients one behind
// the other. Constants: CHUNK. Includes: numbers, functions, selective_scan.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.batches * params.chunks * params.channels) { return; }
  let channel = i % params.channels;
  let chunk = i / params.channels % params.chunks;
  let batch = i / params.channels / params.chunks;
  let group = channel / params.group_channels;
  let begin = chunk * CHUNK;
  let length = min(params.steps - begin, CHUNK);
  let elements = params.batches * params.steps * params.channels;
  var delta: array<f32, CHUNK>;
  var x: array<f32, CHUNK>;
  var dy: array<f32, CHUNK>;
  var d_delta: array<f32, CHUNK>;
  var dx: array<f32, CHUNK>;
  var before: array<f32, CHUNK>;  // the state that a step begins with
  for (var t = 0u; t < length; t++) {
    let at = x_at(batch, begin + t, channel);
    delta[t] = load_delta(at);
    x[t] = load_x(at);
    dy[t] = load_dy(at);
    d_delta[t] = 0.0;
    dx[t] = 0.0;
  }
  for (var n = 0u; n < params.states; n++) {
    let a = load_a(channel * params.states + n);
    let carried = carried_at(batch, chunk, n, channel);
    var h = load_ends(carried);
    for (var t = 0u; t < length; t++) {
      before[t] = h;
      h = exp_f32(delta[t] * a) * h + delta[t] * x[t] * load_b(b_at(batch, begin + t, group, n));
    }
    var g = load_ends(2u * params.carried + carried);
    var da = 0.0;
    for (var s = 0u; s < length; s++) {
      let t = length - 1u - s;
      let at = b_at(batch, begin + t, group, n);
      let b = load_b(at);
      let left = exp_f32(delta[t] * a);
      g += load_c(at) * dy[t];
      let of_exponent = g * left * before[t];
      da += of_exponent * delta[t];
      d_delta[t] += of_exponent * a + g * b * x[t];
      dx[t] += g * b * delta[t];
      g *= left;
    }
    store_out(2u * elements + ((batch * params.chunks + chunk) * params.channels + channel) * params.states + n, da);
  }
  for (var t = 0u; t < length; t++) {
    let at = x_at(batch, begin + t, channel);
    store_out(at, dx[t]);
    store_out(elements + at, d_delta[t]);
  }
}
