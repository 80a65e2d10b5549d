// y[place_of(u)] = combine(it, updates[u]), one update per invocation, in any order.
// Here y holds the bits of its elements. Prelude: combine(a, b), Element. Functions: place_of.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let u = workgroup_index(ids) * WORKGROUP + lane;
  if (u >= params.count) { return; }
  let at = place_of(u);
  let update = load_updates(u);
  var old = atomicLoad(&buffer_y[at]);
  loop {
    let next = bitcast<u32>(combine(bitcast<Element>(old), update));
    if (next == old) { break; }
    let tried = atomicCompareExchangeWeak(&buffer_y[at], old, next);
    if (tried.exchanged) { break; }
    old = tried.old_value;
  }
}
