// Rounding to whole steps of a scale. Includes: numbers.

// round(x / scale), half to even, of the quotient that a correct division gives: a driver's may be off by
// some ulps, which a half would feel.
fn steps_of(x: f32, scale: f32) -> f32 {
  let rough = x / scale;
  let better = rough + fma(-rough, scale, x) / scale;
  let odd = is_nan(better) || is_inf(better) || is_inf(rough);
  return round(select(better, rough, odd));
}

// NaN goes to the zero point.
fn quantise_f32(x: f32, scale: f32, zero_point: f32, low: f32, high: f32) -> f32 {
  let steps = steps_of(x, scale);
  return clamp(select(steps, 0.0, is_nan(steps)) + zero_point, low, high);
}
