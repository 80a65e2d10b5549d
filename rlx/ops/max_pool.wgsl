// The largest element under each window, and where it is. One place per invocation.
// Includes: numbers, windows. Functions: lowest, is_larger.
// Loads: x window for each y.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let out = params.out_extent[0];
  let in = params.in_extent[0];
  let places = out.x * out.y * out.z;
  let first = i / places * in.x * in.y * in.z;  // of the plane
  let start = window_start(place_of(i % places));
  let step = vec3<i32>(params.dilations[0].xyz);
  let taps = taps_inside(start);

  var best = lowest();
  var best_at = vec3<u32>();
  var found = false;
  for (var z = taps.first.x; z < taps.end.x; z++) {
    for (var y = taps.first.y; y < taps.end.y; y++) {
      for (var x = taps.first.z; x < taps.end.z; x++) {
        let at = vec3<u32>(start + vec3<i32>(z, y, x) * step);
        let v = load_x(first + (at.x * in.y + at.y) * in.z + at.z);
        if (!found || is_larger(v, best)) {
          found = true;
          best = v;
          best_at = at;
        }
      }
    }
  }
  store_y(i, best);
  let by = params.index_strides[0];
  store_indices(i, i32(first + best_at.x * by.x + best_at.y * by.y + best_at.z * by.z));
}
