// Folds the states of the LANES lanes that share an output; the first of them gets the result.
// Constants: WORKGROUP and LANES, powers of two. Prelude: T, combine().

var<workgroup> shared_states: array<T, WORKGROUP>;

fn fold_lanes(lane: u32, state: T) -> T {
  let part = lane % LANES;
  shared_states[lane] = state;
  for (var width = LANES / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (part < width) { shared_states[lane] = combine(shared_states[lane], shared_states[lane + width]); }
  }
  return shared_states[lane];
}
