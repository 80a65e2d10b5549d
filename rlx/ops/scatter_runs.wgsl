// y[place] = combine(it, the updates that go there), which `order` has side by side: equal keys are one place. Each
// lane combines the runs within CHUNK of them. What a chunk has of a run that crosses its ends it leaves as a part;
// then, with JOINS, the lane where such a run begins puts the parts together. So sums have one order everywhere.
// Constants: CHUNK, JOINS. Prelude: combine(a, b), Element. Params: half (of keys and order), count, chunks.

fn place_at(i: u32) -> u32 { return load_keys(params.half + i); }
fn update_at(i: u32) -> Element { return load_updates(load_order(params.half + i)); }
fn is_joined(i: u32) -> bool { return i > 0u && i < params.count && place_at(i - 1u) == place_at(i); }
fn put(place: u32, value: Element) { store_y(place, combine(load_y(place), value)); }

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let chunk = workgroup_index(ids) * WORKGROUP + lane;
  if (chunk >= params.chunks) { return; }
  let first = chunk * CHUNK;
  let end = min(first + CHUNK, params.count);
  if (JOINS) {
    let place = place_at(end - 1u);
    let begins_here = !(is_joined(first) && place_at(first) == place);
    if (!is_joined(end) || !begins_here) { return; }
    var value = load_parts(params.chunks + chunk);
    for (var other = chunk + 1u; other < params.chunks; other++) {
      value = combine(value, load_parts(other));
      let next = (other + 1u) * CHUNK;
      if (!is_joined(next) || place_at(next) != place) { break; }
    }
    put(place, value);
    return;
  }
  var begin = first;
  var value = update_at(first);
  for (var i = first + 1u; i <= end; i++) {
    if (i < end && is_joined(i)) {
      value = combine(value, update_at(i));
      continue;
    }
    if (begin == first && is_joined(first)) {
      store_parts(chunk, value);
    } else if (is_joined(i)) {
      store_parts(params.chunks + chunk, value);
    } else {
      put(place_at(begin), value);
    }
    begin = i;
    if (i < end) { value = update_at(i); }
  }
}
