// What an element of x gets from the windows over it that chose it. One element per invocation.
// Includes: windows.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let out = params.out_extent[0].xyz;
  let in = params.in_extent[0].xyz;
  let size = in.x * in.y * in.z;
  let plane = i / size;
  let at = vec3<u32>(i % size / (in.y * in.z), i % size / in.z % in.y, i % in.z);
  let by = params.index_strides[0].xyz;
  let own = plane * size + at.x * by.x + at.y * by.y + at.z * by.z;
  let stride = vec3<i32>(params.strides[0].xyz);
  let window = params.window[0].xyz;

  var sum = 0.0;
  for (var z = 0u; z < window.x; z++) {
    for (var y = 0u; y < window.y; y++) {
      for (var x = 0u; x < window.z; x++) {
        // The place whose window has this tap here, if there is one.
        let moved = vec3<i32>(at + params.before[0].xyz) - vec3<i32>(vec3<u32>(z, y, x) * params.dilations[0].xyz);
        let place = moved / stride;
        if (any(moved < vec3<i32>(0)) || any(place * stride != moved) || any(place >= vec3<i32>(out))) { continue; }
        let p = vec3<u32>(place);
        let k = ((plane * out.x + p.x) * out.y + p.y) * out.z + p.z;
        if (u32(load_indices(k)) == own) { sum += load_dy(k); }
      }
    }
  }
  store_dx(i, sum);
}
