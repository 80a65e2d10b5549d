// exp, log and their kin: right at the ends of their range, and alike on every device, where a
// driver's own may be off by 2^-11 and say anything of infinities. Includes: numbers.

fn power_of_two(k: i32) -> f32 { return bitcast<f32>(u32(k + 127) << 23u); }

fn exp_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x > 88.722839) { return infinity(); }
  if (x < -103.98) { return 0.0; }
  let k = round(x * 1.44269504);
  // ln 2 in two parts; max() keeps a compiler from adding them up.
  let r = fma(k, 2.12194440e-4, max(fma(k, -0.693359375, x), -1.0));
  let tail = 0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)))));
  let half = i32(k) / 2;  // 2^k may be beyond the range where the result is not
  return (1.0 + fma(r * r, tail, r)) * power_of_two(half) * power_of_two(i32(k) - half);
}

fn expm1_f32(x: f32) -> f32 {
  if (abs(x) >= 0.5 || is_nan(x)) { return exp_f32(x) - 1.0; }
  let tail = 1.0 / 120.0 + x * (1.0 / 720.0 + x * (1.0 / 5040.0 + x * (1.0 / 40320.0 + x * (1.0 / 362880.0))));
  return fma(x * x, 0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * tail)), x);
}

// log(1 + x) for x in [sqrt(1/2) - 1, sqrt(2) - 1], as 2 artanh(s).
fn log_near_one(x: f32) -> f32 {
  let s = x / (2.0 + x);
  let t = s * s;
  let tail = 2.0 / 3.0 + t * (2.0 / 5.0 + t * (2.0 / 7.0 + t * (2.0 / 9.0)));
  return fma(s * t, tail, 2.0 * s);
}

fn log_f32(x: f32) -> f32 {
  var bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) { return -infinity(); }
  if (bits >= 0x80000000u) { return make_nan(x); }
  if (bits >= 0x7f800000u) { return x; }
  var exponent = -127;
  if (bits < 0x00800000u) {  // subnormal: an integer times 2^-149
    bits = bitcast<u32>(f32(bits));
    exponent -= 149;
  }
  exponent += i32(bits >> 23u);
  var mantissa = bitcast<f32>((bits & 0x007fffffu) | 0x3f800000u);
  if (mantissa > 1.41421356) {
    mantissa *= 0.5;
    exponent += 1;
  }
  let k = f32(exponent);
  return fma(k, 0.693359375, fma(k, -2.12194440e-4, log_near_one(mantissa - 1.0)));
}

fn log1p_f32(x: f32) -> f32 {
  if (abs(x) < 0.29 && !is_nan(x)) { return log_near_one(x); }
  return log_f32(1.0 + x);
}

fn sqrt_f32(x: f32) -> f32 {
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u || is_nan(x) || x == infinity()) { return x; }
  if (x < 0.0) { return make_nan(x); }
  return sqrt(x);
}

fn tanh_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (abs(x) > 9.1) { return sign(x); }
  let t = expm1_f32(2.0 * abs(x));
  return select(t, -t, x < 0.0) / (t + 2.0);
}

fn sigmoid_f32(x: f32) -> f32 {
  let e = exp_f32(-abs(x));
  return select(e, 1.0, x >= 0.0) / (1.0 + e);
}

fn softplus_f32(x: f32) -> f32 { return max(x, 0.0) + log1p_f32(exp_f32(-abs(x))); }

// tanh(log(1 + e)) for e = exp(x), as a quotient.
fn mish_f32(x: f32) -> f32 {
  if (x > 20.0) { return x; }
  let e = exp_f32(x);
  let t = e * (e + 2.0);
  return x * (t / (t + 2.0));
}
