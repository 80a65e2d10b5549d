// Direct convolution: each invocation computes 4 pixels in 4 channels of one group. Lanes lie along the
// pixels, so that all of them read the same weights and neighbours read neighbouring x.
// Functions: start (the bias of a channel), activation.

struct Pixels {  // where the windows of 4 pixels begin in x; the padding makes it negative
  y: vec4<i32>,
  x: vec4<i32>,
}

fn pixels_at(pixel: vec4<u32>) -> Pixels {
  let row = vec4<i32>(pixel / params.out_width * params.stride_y);
  let column = vec4<i32>(pixel % params.out_width * params.stride_x);
  return Pixels(row - i32(params.pad_top), column - i32(params.pad_left));
}

// Zero in the padding.
fn pixel_value(channel_at: u32, y: i32, x: i32) -> f32 {
  if (y < 0 || x < 0 || u32(y) >= params.height || u32(x) >= params.width) { return 0.0; }
  return load_x(channel_at + u32(y) * params.x_strides[0].z + u32(x) * params.x_strides[0].w);
}

fn put(image: u32, channel: u32, pixel: vec4<u32>, v: vec4<f32>) {
  let pixels = params.out_height * params.out_width;
  let bias = start(channel);
  for (var p = 0u; p < 4u; p++) {
    if (pixel[p] < pixels) {
      store_y((image * params.groups * params.group_outputs + channel) * pixels + pixel[p], activation(v[p] + bias));
    }
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let pixels = params.out_height * params.out_width;
  let pixel_blocks = (pixels + 4u * WORKGROUP - 1u) / (4u * WORKGROUP);
  let channel_blocks = (params.group_outputs + 3u) / 4u;
  var rest = workgroup_index(ids);
  let first_pixel = rest % pixel_blocks * 4u * WORKGROUP + lane;
  rest /= pixel_blocks;
  let first_output = rest % channel_blocks * 4u;  // within the group
  rest /= channel_blocks;
  let group = rest % params.groups;
  let image = rest / params.groups;
  if (image >= params.batches) { return; }

  let pixel = first_pixel + vec4<u32>(0u, 1u, 2u, 3u) * WORKGROUP;
  let at = pixels_at(pixel);
  let window = params.window_height * params.window_width;
  // Beyond the last channel that channel is computed again and not stored.
  let outputs = min(first_output + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.group_outputs - 1u));
  var w_at = (group * params.group_outputs + outputs) * params.group_inputs * window;
  var channel_at = params.x_first + image * params.x_strides[0].x + group * params.group_inputs * params.x_strides[0].y;

  var sums0 = vec4<f32>();
  var sums1 = vec4<f32>();
  var sums2 = vec4<f32>();
  var sums3 = vec4<f32>();
  for (var c = 0u; c < params.group_inputs; c++) {
    for (var i = 0u; i < params.window_height; i++) {
      let y = at.y + i32(i * params.dilation_y);
      for (var j = 0u; j < params.window_width; j++) {
        let x = at.x + i32(j * params.dilation_x);
        let values = vec4<f32>(pixel_value(channel_at, y.x, x.x), pixel_value(channel_at, y.y, x.y),
                               pixel_value(channel_at, y.z, x.z), pixel_value(channel_at, y.w, x.w));
        sums0 += load_w(w_at.x) * values;
        sums1 += load_w(w_at.y) * values;
        sums2 += load_w(w_at.z) * values;
        sums3 += load_w(w_at.w) * values;
        w_at += 1u;
      }
    }
    channel_at += params.x_strides[0].y;
  }

  let channel = group * params.group_outputs + first_output;
  let left = params.group_outputs - first_output;
  put(image, channel, pixel, sums0);
  if (left > 1u) { put(image, channel + 1u, pixel, sums1); }
  if (left > 2u) { put(image, channel + 2u, pixel, sums2); }
  if (left > 3u) { put(image, channel + 3u, pixel, sums3); }
}
