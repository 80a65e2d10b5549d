// Direct convolution: each invocation computes 4 pixels in CHANNELS channels of one group. Lanes lie
// along the pixels, so that all of them read the same weights and neighbours read neighbouring x.
// Constants: CHANNELS, TRANSPOSED. Functions: x_value, w_value, finish.

const PIXELS = 4u * WORKGROUP;

// Where tap `tap` of axis d meets x for 4 places of y, or -1.
fn sources(place: vec4<u32>, tap: u32, d: u32) -> vec4<i32> {
  let stride = i32(params.strides[0][d]);
  let moved = i32(tap * params.dilations[0][d]) - i32(params.before[0][d]);
  let extent = i32(params.in_extent[0][d]);
  if (TRANSPOSED) {
    let spread = vec4<i32>(place) - moved;
    let source = spread / stride;
    let meets = (spread >= vec4<i32>(0)) & (source * stride == spread) & (source < vec4<i32>(extent));
    return select(vec4<i32>(-1), source, meets);
  }
  let source = vec4<i32>(place) * stride + moved;
  return select(vec4<i32>(-1), source, (source >= vec4<i32>(0)) & (source < vec4<i32>(extent)));
}

fn put(pixel: u32, channel: u32, v: T) {
  let places = params.out_extent[0].x * params.out_extent[0].y * params.out_extent[0].z;
  if (pixel >= params.batches * places) { return; }
  let image = pixel / places;
  store_y((image * params.groups * params.group_outputs + channel) * places + pixel % places, finish(v, channel));
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let out = params.out_extent[0];
  let places = out.x * out.y * out.z;
  let pixels = params.batches * places;  // of all images
  let pixel_blocks = (pixels + PIXELS - 1u) / PIXELS;
  let channel_blocks = (params.group_outputs + CHANNELS - 1u) / CHANNELS;
  let block = workgroup_index(ids);
  let group = block / pixel_blocks / channel_blocks;
  if (group >= params.groups) { return; }
  let first_output = block / pixel_blocks % channel_blocks * CHANNELS;  // within the group
  let first_channel = group * params.group_outputs + first_output;

  // Beyond the last pixel and channel that one is computed again and not stored.
  let pixel = block % pixel_blocks * PIXELS + lane + vec4<u32>(0u, 1u, 2u, 3u) * WORKGROUP;
  let inside_pixel = min(pixel, vec4<u32>(pixels - 1u));
  let image = inside_pixel / places;
  let place = inside_pixel % places;
  let z = place / (out.y * out.z);
  let y = place / out.z % out.y;
  let x = place % out.z;

  let x_step = params.x_strides[0].y;
  let w_step = params.w_strides[0].y;
  let x_group = params.x_first + image * params.x_strides[0].x + group * params.group_inputs * x_step;
  let w_group = params.w_first + group * params.w_strides[1].y;
  var sums: array<vec4<T>, CHANNELS>;
  for (var i = 0u; i < params.window[0].x; i++) {
    let at_z = sources(z, i, 0u);
    for (var j = 0u; j < params.window[0].y; j++) {
      let at_y = sources(y, j, 1u);
      for (var k = 0u; k < params.window[0].z; k++) {
        let at_x = sources(x, k, 2u);
        let meets = (at_z >= vec4<i32>(0)) & (at_y >= vec4<i32>(0)) & (at_x >= vec4<i32>(0));
        if (!any(meets)) { continue; }
        let offset = vec4<u32>(at_z) * params.x_strides[0].z + vec4<u32>(at_y) * params.x_strides[0].w +
                     vec4<u32>(at_x) * params.x_strides[1].x;
        var x_at = x_group + select(vec4<u32>(), offset, meets);
        var w_at: array<u32, CHANNELS>;
        for (var o = 0u; o < CHANNELS; o++) {
          w_at[o] = w_group + min(first_output + o, params.group_outputs - 1u) * params.w_strides[0].x +
                    i * params.w_strides[0].z + j * params.w_strides[0].w + k * params.w_strides[1].x;
        }
        for (var c = 0u; c < params.group_inputs; c++) {
          let found = vec4<T>(x_value(x_at.x), x_value(x_at.y), x_value(x_at.z), x_value(x_at.w));
          let values = select(vec4<T>(), found, meets);
          x_at += x_step;
          for (var o = 0u; o < CHANNELS; o++) {
            sums[o] += w_value(w_at[o], first_channel + o) * values;
            w_at[o] += w_step;
          }
        }
      }
    }
  }

  for (var o = 0u; o < CHANNELS; o++) {
    if (first_output + o >= params.group_outputs) { return; }
    let channel = first_channel + o;
    put(pixel.x, channel, sums[o].x);
    put(pixel.y, channel, sums[o].y);
    put(pixel.z, channel, sums[o].z);
    put(pixel.w, channel, sums[o].w);
  }
}
