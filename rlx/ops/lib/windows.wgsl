// Places and taps of windows that slide over three axes.
// Params: in_extent, out_extent, window, strides, dilations, before.

// An element of a plane of y by its axes.
fn place_of(i: u32) -> vec3<u32> {
  let out = params.out_extent[0];
  return vec3<u32>(i / out.z / out.y, i / out.z % out.y, i % out.z);
}

// Where the first tap of the window at a place lies in x, before it where there is padding.
fn window_start(place: vec3<u32>) -> vec3<i32> {
  return vec3<i32>(place * params.strides[0].xyz) - vec3<i32>(params.before[0].xyz);
}

// The taps of a window along each axis that meet x: from the first, to before the last.
struct Taps {
  first: vec3<i32>,
  end: vec3<i32>,
}
fn taps_inside(start: vec3<i32>) -> Taps {
  let step = vec3<i32>(params.dilations[0].xyz);
  let room = vec3<i32>(params.in_extent[0].xyz) - start;
  let first = select(vec3<i32>(0), (step - 1 - start) / step, start < vec3<i32>(0));
  let end = select(vec3<i32>(0), (room + step - 1) / step, room > vec3<i32>(0));
  return Taps(first, min(end, vec3<i32>(params.window[0].xyz)));
}
