// The error function and the normal distribution. Includes: numbers, functions.

// exp(x^2) erfc(x) for x >= 0, to 1e-8.
fn scaled_erfc(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.4 * x);
  let high = 0.146803245 + t * (-0.243041731 + t * (0.143841069 - t * 0.0298686284));
  let middle = 0.118095123 + t * (0.0871206414 + t * (-0.0537931659 + t * high));
  return t * (0.225675831 + t * (0.225676317 + t * (0.20760072 + t * (0.171890572 + t * middle))));
}

fn erf_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (abs(x) >= 1.0) {
    if (abs(x) > 4.0) { return sign(x); }
    return sign(x) * (1.0 - exp_f32(-x * x) * scaled_erfc(abs(x)));
  }
  let t = x * x;
  let tail = 0.00522103181 + t * (-0.000848408039 + t * (0.000112659589 - t * 9.66704429e-6));
  return x * (1.12837917 + t * (-0.376126385 + t * (0.112837825 + t * (-0.0268654307 + t * tail))));
}

// exp(-x^2 / 2), with x^2 in two parts: its rounding would grow with x.
fn gaussian(x: f32) -> f32 {
  if (abs(x) > 15.0) { return 0.0; }
  let high = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return exp_f32(-0.5 * high * high) * exp_f32(-0.5 * (x - high) * (x + high));
}

fn gelu_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let below = 0.5 * gaussian(x) * scaled_erfc(abs(x) * 0.707106781);  // the part of the distribution beyond |x|
  return x * select(below, 1.0 - below, x >= 0.0);
}

fn gelu_tanh_f32(x: f32) -> f32 { return x * sigmoid_f32(1.59576912 * x * fma(0.044715 * x, x, 1.0)); }
