// Element k of the update goes to its place in y; one element per invocation.
// Constants: DIMS. params.view holds (extent, stride in y) of each dim of the update.
// Loads: update 1.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let k = workgroup_index(ids) * WORKGROUP + lane;
  if (k == 0u && params.outside > 0u) { raise_flag(FLAG_BLOCK, i32(params.outside)); }
  if (k >= params.count) { return; }
  var at = params.offset;
  var rest = k;
  for (var d = DIMS; d > 0u; d--) {
    let entry = 2u * (d - 1u);
    let extent = params.view[entry / 4u][entry % 4u];
    at += rest % extent * params.view[entry / 4u][entry % 4u + 1u];
    rest /= extent;
  }
  store_y(at, load_update(k));
}
