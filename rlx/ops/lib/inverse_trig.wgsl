// Arcs, to a few ulps. Includes: numbers, functions.

// atan for |x| <= tan(pi / 8).
fn small_atan(x: f32) -> f32 {
  let z = x * x;
  let tail = -0.333333318 + z * (0.199995405 + z * (-0.142639556 + z * (0.107437315 - z * 0.0645192817)));
  return fma(x * z, tail, x);
}

// The angle of the finite point (x, y) in the first quadrant.
fn quadrant_angle(y: f32, x: f32) -> f32 {
  if (y == 0.0) { return 0.0; }
  if (y > 2.41421356 * x) { return 1.57079633 - small_atan(x / y); }
  if (y > 0.414213562 * x) { return 0.785398163 + small_atan((y - x) / (y + x)); }
  return small_atan(y / x);
}

fn atan_f32(x: f32) -> f32 {
  if (is_nan(x) || (bitcast<u32>(x) & 0x7fffffffu) == 0u) { return x; }
  let size = select(quadrant_angle(abs(x), 1.0), 1.57079633, is_inf(x));
  return select(size, -size, x < 0.0);
}

fn atan2_f32(y: f32, x: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return make_nan(x); }
  let left = bitcast<u32>(x) >= 0x80000000u;
  let y_zero = (bitcast<u32>(y) & 0x7fffffffu) == 0u;
  var size = 0.0;
  if (is_inf(x) && is_inf(y)) {
    size = 0.785398163;
  } else if (is_inf(y)) {
    size = 1.57079633;
  } else if (!is_inf(x) && !y_zero) {
    // Scaled, so that neither the sums nor the quotient leave the range.
    let largest = max(abs(x), abs(y));
    let scale = select(select(1.0, 1.2676506e30, largest < 1e-20), 7.8886091e-31, largest > 1e20);
    size = quadrant_angle(abs(y) * scale, abs(x) * scale);
  }
  if (left) { size = 3.14159265 - size; }
  return select(size, -size, bitcast<u32>(y) >= 0x80000000u);
}

// asin for |x| <= 1 / 2.
fn small_asin(x: f32) -> f32 {
  let z = x * x;
  let tail = 0.166666724 + z * (0.0749885507 + z * (0.0450013801 + z * (0.0265545422 + z * 0.0380850236)));
  return fma(x * z, tail, x);
}

fn asin_f32(x: f32) -> f32 {
  if (is_nan(x) || abs(x) > 1.0) { return make_nan(x); }
  if (abs(x) <= 0.5) { return small_asin(x); }
  let size = 1.57079633 - 2.0 * small_asin(sqrt_f32(0.5 - 0.5 * abs(x)));
  return select(size, -size, x < 0.0);
}

fn acos_f32(x: f32) -> f32 {
  if (is_nan(x) || abs(x) > 1.0) { return make_nan(x); }
  if (abs(x) <= 0.5) { return 1.57079633 - small_asin(x); }
  let rest = 2.0 * small_asin(sqrt_f32(0.5 - 0.5 * abs(x)));
  return select(rest, 3.14159265 - rest, x < 0.0);
}
