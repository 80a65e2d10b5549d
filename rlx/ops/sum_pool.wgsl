// A sum over each window, finished. One place per invocation.
// Includes: windows, functions. Params: padded_end (of x and the pads after it). Functions: term, finish.
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

  var sum = 0.0;
  for (var z = taps.first.x; z < taps.end.x; z++) {
    for (var y = taps.first.y; y < taps.end.y; y++) {
      for (var x = taps.first.z; x < taps.end.z; x++) {
        let at = vec3<u32>(start + vec3<i32>(z, y, x) * step);
        sum += term(load_x(first + (at.x * in.y + at.y) * in.z + at.z));
      }
    }
  }
  let inside = vec3<u32>(max(taps.end - taps.first, vec3<i32>(0)));
  let room = vec3<i32>(params.padded_end[0].xyz) - start;
  let padded = min(params.window[0].xyz, vec3<u32>((room + step - 1) / step));
  store_y(i, finish(sum, inside.x * inside.y * inside.z, padded.x * padded.y * padded.z));
}
