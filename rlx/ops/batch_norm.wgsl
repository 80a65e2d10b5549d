// (x - mean) / sqrt(variance + epsilon) * gamma + beta with the numbers of x's channel; one element
// per invocation. The dispatch brings scale(channel) and shift(channel).
// Loads: x 1.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let channel = i / params.positions % params.channels;
  let inverse = 1.0 / sqrt(load_variance(channel) + params.epsilon);
  store_y(i, (load_x(i) - load_mean(channel)) * inverse * scale(channel) + shift(channel));
}
