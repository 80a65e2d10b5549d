// y[place_of(u)] = combine(it, updates[u]) for the updates, which are [outer, steps, inner].
// One invocation per column takes the steps in order, so that duplicates meet without atomics, and always alike.
// Prelude: combine(a, b). Functions: place_of. Params: column_count, column_stride (inner), steps.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let column = workgroup_index(ids) * WORKGROUP + lane;
  if (column >= params.column_count) { return; }
  let first = column / params.column_stride * params.steps * params.column_stride + column % params.column_stride;
  for (var n = 0u; n < params.steps; n++) {
    let u = first + n * params.column_stride;
    let at = place_of(u);
    store_y(at, combine(load_y(at), load_updates(u)));
  }
}
