// The boxes that were kept of all groups as rows (batch, class, box); a place of a group to a lane.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.groups * params.most) { return; }
  let group = i / params.most;
  let row = load_starts(group) + i % params.most;
  if (row >= load_starts(group + 1u)) { return; }
  store_y(row * 3u, i32(group / params.classes));
  store_y(row * 3u + 1u, i32(group % params.classes));
  store_y(row * 3u + 2u, i32(load_kept(i)));
}
