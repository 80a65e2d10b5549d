// Powers, right to the last digits where the result is large. Includes: numbers, functions.

// The first half of a number's digits: products of two such are exact.
fn first_digits(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }

// x^y for finite x > 0 and y. Where the result is large, each digit of y log2(x) before the point costs one behind it,
// so that logarithm and product are sums of two numbers.
fn power_of_positive(x: f32, y: f32) -> f32 {
  let rough = y * log_f32(x) * 1.44269504;
  if (rough > 129.0) { return infinity(); }
  if (rough < -151.0) { return 0.0; }
  var bits = bitcast<u32>(x);
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
  // s = f / (2 + f), and log(1 + f) = 2 artanh(s).
  let f = mantissa - 1.0;
  let f_high = first_digits(f);
  let s = first_digits(f / (2.0 + f));
  let s_rest = (f - 2.0 * s - s * f_high - s * (f - f_high)) / (2.0 + f);
  let whole = s + s_rest;
  let t = whole * whole;
  let tail = 2.0 / 3.0 + t * (2.0 / 5.0 + t * (2.0 / 7.0 + t * (2.0 / 9.0 + t * (2.0 / 11.0))));
  let rest = 2.0 * s_rest + whole * t * tail;
  // By log2(e) = 1.4423828125 + 3.1222839e-4.
  let product = 2.0 * s * 1.4423828125;
  let high = first_digits(product);
  let low = (product - high) + (2.0 * s * 3.1222839e-4 + rest * 1.44269504);
  let y_high = first_digits(y);
  let y_low = y - y_high;
  let k = f32(exponent);
  let n = round(rough);
  let behind = ((y_high * k - n) + y_high * high) + (y_low * k + (y_low * high + y * low));
  let half = i32(n) / 2;  // 2^n may be beyond the range where the result is not
  return exp_f32(behind * 0.693147181) * power_of_two(half) * power_of_two(i32(n) - half);
}

fn pow_f32(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (is_nan(x) || is_nan(y)) { return make_nan(x); }
  let whole = trunc(y) == y;
  if (whole && abs(y) <= 8.0) {  // the powers people write, without the rounding of a logarithm
    var result = 1.0;
    var square = x;
    for (var n = u32(abs(y)); n > 0u; n >>= 1u) {
      if ((n & 1u) == 1u) { result *= square; }
      square *= square;
    }
    if (y > 0.0) { return result; }
    return 1.0 / result;
  }
  if (abs(x) == 1.0 && is_inf(y)) { return 1.0; }
  let negative = bitcast<u32>(x) >= 0x80000000u;
  if (negative && !whole && x < 0.0 && !is_inf(x)) { return make_nan(x); }
  var size = 0.0;
  if (is_inf(x) || is_inf(y) || (bitcast<u32>(x) & 0x7fffffffu) == 0u) {
    size = exp_f32(y * log_f32(abs(x)));
  } else {
    size = power_of_positive(abs(x), y);
  }
  let odd = whole && abs(y) < 16777216.0 && (i32(y) & 1) == 1;
  return select(size, -size, negative && odd);
}
