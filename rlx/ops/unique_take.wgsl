// Each group's first slice and how many it has, at its place among the results. Prelude: group_at(place).

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let place = workgroup_index(ids) * WORKGROUP + lane;
  if (place >= params.kept) { return; }
  let group = group_at(place);
  var end = params.count;
  if (group + 1u < params.kept) { end = load_begins(group + 1u); }
  store_indices(place, i32(load_firsts(group)));
  store_counts(place, i32(end - load_begins(group)));
  store_places(group, place);
}
