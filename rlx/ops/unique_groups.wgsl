// The group of each slice, and of each group its first slice and where it begins among the sorted ones.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let slice = load_order(params.sorted + i);
  let starts = load_starts(i + 1u);
  store_groups(slice, starts - 1u);
  if (starts == load_starts(i)) { return; }
  store_firsts(starts - 1u, slice);
  store_begins(starts - 1u, i);
}
