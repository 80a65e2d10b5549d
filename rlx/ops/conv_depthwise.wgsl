// Convolution in which each channel of y sees one channel of x: each invocation computes OUTPUTS neighbours along the
// last axis, and what their windows share of a line of x it reads once. TAPS taps of a line are taken at a time.
// Constants: OUTPUTS, TAPS; STEP between the elements read of a line, and by how many of these neighbouring outputs
// (ALONG) and neighbouring taps (APART) differ. Functions: x_value, w_value, finish.

const LINE = (OUTPUTS - 1u) * ALONG + (TAPS - 1u) * APART + 1u;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let out = params.out_extent[0];
  let in = vec3<i32>(params.in_extent[0].xyz);
  let window = params.window[0];
  let blocks = (out.z + OUTPUTS - 1u) / OUTPUTS;  // of a line
  let number = workgroup_index(ids) * WORKGROUP + lane;
  let line_of_y = number / blocks;
  let plane = line_of_y / out.y / out.x;  // of all images
  let channels = params.groups * params.group_outputs;
  if (plane >= params.batches * channels) { return; }
  let channel = plane % channels;
  let group = channel / params.group_outputs;
  let first = number % blocks * OUTPUTS;
  let place = vec3<u32>(line_of_y / out.y % out.x, line_of_y % out.y, first);
  let start = vec3<i32>(place * params.strides[0].xyz) - vec3<i32>(params.before[0].xyz);

  let x_plane = params.x_first + plane / channels * params.x_strides[0].x + group * params.x_strides[0].y;
  let w_plane = params.w_first + group * params.w_strides[1].y + channel % params.group_outputs * params.w_strides[0].x;
  var sums: array<T, OUTPUTS>;
  for (var i = 0u; i < window.x; i++) {
    let z = start.x + i32(i * params.dilations[0].x);
    if (z < 0 || z >= in.x) { continue; }
    for (var j = 0u; j < window.y; j++) {
      let y = start.y + i32(j * params.dilations[0].y);
      if (y < 0 || y >= in.y) { continue; }
      let x_line = x_plane + u32(z) * params.x_strides[0].z + u32(y) * params.x_strides[0].w;
      let w_line = w_plane + i * params.w_strides[0].z + j * params.w_strides[0].w;
      for (var k = 0u; k < window.z; k += TAPS) {
        var line: array<T, LINE>;
        let left = start.z + i32(k * params.dilations[0].z);
        for (var e = 0u; e < LINE; e++) {
          let at = left + i32(e * STEP);
          let inside = u32(clamp(at, 0, in.z - 1));
          line[e] = select(T(0), x_value(x_line + inside * params.x_strides[1].x), at >= 0 && at < in.z);
        }
        for (var t = 0u; t < TAPS; t++) {
          if (k + t < window.z) {
            let w = w_value(w_line + (k + t) * params.w_strides[1].x, channel);
            for (var o = 0u; o < OUTPUTS; o++) { sums[o] += w * line[o * ALONG + t * APART]; }
          }
        }
      }
    }
  }
  for (var o = 0u; o < OUTPUTS; o++) {
    if (first + o < out.z) { store_y(line_of_y * out.z + first + o, finish(sums[o], channel)); }
  }
}
