// 1 where a sorted key differs from the one before it, else 0; 0 behind the last.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i > params.count) { return; }
  var differs = i < params.count;
  if (differs && i > 0u) { differs = load_keys(params.sorted + i) != load_keys(params.sorted + i - 1u); }
  store_counts(i, select(0u, 1u, differs));
}
