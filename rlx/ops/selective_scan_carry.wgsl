// Carries a state from chunk to chunk: what a chunk came to is replaced by what comes into it; one lane to a state.
// Constants: BACKWARDS: from the last chunk to the first. Functions: first_state.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.batches * params.channels * params.states) { return; }
  let channel = i % params.channels;
  let n = i / params.channels % params.states;
  let batch = i / params.channels / params.states;
  let place = (batch * params.channels + channel) * params.states + n;
  var h = first_state(place);
  for (var c = 0u; c < params.chunks; c++) {
    let chunk = select(c, params.chunks - 1u - c, BACKWARDS);
    let at = ((batch * params.chunks + chunk) * params.states + n) * params.channels + channel;
    let own = params.part * params.carried + at;
    let next = load_ends(params.carried + at) * h + load_ends(own);
    store_ends(own, h);
    h = next;
  }
  store_last(place, h);
}
