// The results of a chunk of steps of one channel; one lane to a chunk, or to all of a channel. State by state it goes
// through the steps of the chunk, whose sums it keeps, so that there may be any number of states.
// Constants: CHUNK; IN_TURN: the lane takes all chunks of its channel and keeps the state in the result between them.
// Functions: before_chunk, first_state where IN_TURN, put_next. Includes: numbers, functions, selective_scan.

fn scan_chunk(batch: u32, chunk: u32, channel: u32) {
  let begin = chunk * CHUNK;
  let length = min(params.steps - begin, CHUNK);
  var delta: array<f32, CHUNK>;
  var enters: array<f32, CHUNK>;
  var sums: array<f32, CHUNK>;
  for (var t = 0u; t < length; t++) {
    let at = x_at(batch, begin + t, channel);
    delta[t] = load_delta(at);
    enters[t] = delta[t] * load_x(at);
    sums[t] = 0.0;
  }
  let group = channel / params.group_channels;
  for (var n = 0u; n < params.states; n++) {
    let a = load_a(channel * params.states + n);
    var h = before_chunk(batch, chunk, channel, n);
    for (var t = 0u; t < length; t++) {
      let of_state = b_at(batch, begin + t, group, n);
      h = exp_f32(delta[t] * a) * h + enters[t] * load_b(of_state);
      sums[t] += load_c(of_state) * h;
    }
    put_next((batch * params.channels + channel) * params.states + n, h);
  }
  for (var t = 0u; t < length; t++) { store_y(x_at(batch, begin + t, channel), sums[t]); }
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  let chunks = select(params.chunks, 1u, IN_TURN);
  if (i >= params.batches * chunks * params.channels) { return; }
  let channel = i % params.channels;
  let batch = i / params.channels / chunks;
  if (!IN_TURN) {
    scan_chunk(batch, i / params.channels % chunks, channel);
    return;
  }
  for (var chunk = 0u; chunk < params.chunks; chunk++) { scan_chunk(batch, chunk, channel); }
  if (params.chunks == 0u) {
    let first = (batch * params.channels + channel) * params.states;
    for (var n = 0u; n < params.states; n++) { put_next(first + n, before_chunk(batch, 0u, channel, n)); }
  }
}
