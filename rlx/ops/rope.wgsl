// Turns pairs of the last axis; one invocation per element.
// Constants: INTERLEAVED.
// Loads: x 2.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let d = i % params.size;
  if (d >= 2u * params.half) {
    store_y(i, load_x(i));
    return;
  }
  let is_first = select(d < params.half, d % 2u == 0u, INTERLEAVED);
  let apart = select(params.half, 1u, INTERLEAVED);
  let pair = select(d % params.half, d / 2u, INTERLEAVED);
  let position = i / params.batch * params.positions + i / params.inner % params.positions;
  let at = position * params.half + pair;
  let other = load_x(select(i - apart, i + apart, is_first));
  store_y(i, load_x(i) * load_cos(at) + other * select(load_sin(at), -load_sin(at), is_first));
}
