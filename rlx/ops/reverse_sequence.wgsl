// Element i of x with the first lengths[b] positions along time reversed, for each b of the batch axis.
// Params: time, time_stride, batch, batch_stride: extent and stride in elements of the two axes.
// Loads: x 1 for each result.

fn compute(i: u32) -> T {
  let length = i32(load_lengths(i / params.batch_stride % params.batch));
  if (length < 0 || length > i32(params.time)) { raise_flag(FLAG_LENGTH, length); }
  let t = i / params.time_stride % params.time;
  let end = u32(max(min(length, i32(params.time)), 0));
  if (t >= end) { return load_x(i); }
  return load_x(i + (end - 1u - 2u * t) * params.time_stride);
}
