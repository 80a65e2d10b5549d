// The gradients of b and c, sums over the channels of a group; one lane to a chunk of a state. Of each channel the
// steps of the chunk are taken again forwards, then the state's gradient backwards. `out` has both gradients, one
// behind the other. Constants: CHUNK. Includes: numbers, functions, selective_scan.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.batches * params.chunks * params.groups * params.states) { return; }
  let n = i % params.states;
  let group = i / params.states % params.groups;
  let chunk = i / params.states / params.groups % params.chunks;
  let batch = i / params.states / params.groups / params.chunks;
  let begin = chunk * CHUNK;
  let length = min(params.steps - begin, CHUNK);
  var b: array<f32, CHUNK>;
  var c: array<f32, CHUNK>;
  var db: array<f32, CHUNK>;
  var dc: array<f32, CHUNK>;
  for (var t = 0u; t < length; t++) {
    let at = b_at(batch, begin + t, group, n);
    b[t] = load_b(at);
    c[t] = load_c(at);
    db[t] = 0.0;
    dc[t] = 0.0;
  }
  let first = group * params.group_channels;
  for (var channel = first; channel < min(first + params.group_channels, params.channels); channel++) {
    let a = load_a(channel * params.states + n);
    let carried = carried_at(batch, chunk, n, channel);
    var h = load_ends(carried);
    for (var t = 0u; t < length; t++) {
      let at = x_at(batch, begin + t, channel);
      let delta = load_delta(at);
      h = exp_f32(delta * a) * h + delta * load_x(at) * b[t];
      dc[t] += load_dy(at) * h;
    }
    var g = load_ends(2u * params.carried + carried);
    for (var s = 0u; s < length; s++) {
      let t = length - 1u - s;
      let at = x_at(batch, begin + t, channel);
      let delta = load_delta(at);
      g += c[t] * load_dy(at);
      db[t] += g * delta * load_x(at);
      g *= exp_f32(delta * a);
    }
  }
  let elements = params.batches * params.steps * params.groups * params.states;
  for (var t = 0u; t < length; t++) {
    let at = b_at(batch, begin + t, group, n);
    store_out(at, db[t]);
    store_out(elements + at, dc[t]);
  }
}
