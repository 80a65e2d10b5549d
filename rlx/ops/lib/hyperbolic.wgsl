// Hyperbolic functions and their inverses, to a few ulps. Includes: numbers, functions.

// exp(x) / 2, which is in range where exp(x) is not.
fn half_exp(x: f32) -> f32 {
  let root = exp_f32(0.5 * x);
  return 0.5 * root * root;
}

fn sinh_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let e = expm1_f32(min(abs(x), 10.0));
  let size = select(0.5 * (e + e / (e + 1.0)), half_exp(abs(x)), abs(x) > 9.0);
  return select(size, -size, x < 0.0);
}

fn cosh_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let e = exp_f32(min(abs(x), 10.0));
  return select(0.5 * (e + 1.0 / e), half_exp(abs(x)), abs(x) > 9.0);
}

fn asinh_f32(x: f32) -> f32 {
  if (is_nan(x) || is_inf(x)) { return x; }
  let a = abs(x);
  var size = 0.0;
  if (a > 1e8) {
    size = log_f32(a) + 0.693147181;
  } else {
    size = log1p_f32(a + a * a / (1.0 + sqrt_f32(fma(a, a, 1.0))));
  }
  return select(size, -size, x < 0.0);
}

fn acosh_f32(x: f32) -> f32 {
  if (is_nan(x) || x < 1.0) { return make_nan(x); }
  if (x > 1e8) { return log_f32(x) + 0.693147181; }
  let t = x - 1.0;
  return log1p_f32(t + sqrt_f32(t * (t + 2.0)));
}

fn atanh_f32(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return make_nan(x); }
  let size = select(0.5 * log1p_f32(2.0 * a / (1.0 - min(a, 0.99999994))), infinity(), a == 1.0);
  return select(size, -size, x < 0.0);
}
