// y[plane, tap, place] = the element of x that the tap of the place's window meets, or 0.
// Includes: windows.
// Loads: x 1 for each y.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let out = params.out_extent[0];
  let in = params.in_extent[0].xyz;
  let window = params.window[0].xyz;
  let places = out.x * out.y * out.z;
  let tap = i / places % (window.x * window.y * window.z);
  let plane = i / places / (window.x * window.y * window.z);
  let taps = vec3<u32>(tap / window.z / window.y, tap / window.z % window.y, tap % window.z);
  let at = window_start(place_of(i % places)) + vec3<i32>(taps * params.dilations[0].xyz);
  if (any(at < vec3<i32>(0)) || any(at >= vec3<i32>(in))) {
    store_y(i, T(0));
    return;
  }
  let p = vec3<u32>(at);
  store_y(i, load_x(((plane * in.x + p.x) * in.y + p.y) * in.z + p.z));
}
