// sin, cos and tan of any float, to 1e-7: a driver's own may be off by 2^-11 and lose large angles.
// Includes: numbers.

struct Angle {
  quadrant: u32,
  rest: f32,  // in [-pi/4, pi/4]
}

fn multiply_wide(a: u32, b: u32) -> vec2<u32> {  // low, high
  let low = (a & 0xffffu) * (b & 0xffffu);
  let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return vec2<u32>((low & 0xffffu) | (other << 16u), (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u));
}

// The bits of 2 / pi after a word of zeros: 96 of them, from where a multiple of 4 no longer counts.
fn bits_of_two_over_pi(first: u32) -> vec3<u32> {
  var table = array<u32, 9>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
                            0xfe5163abu, 0xdebbc561u);
  let word = first / 32u;
  let shift = first % 32u;
  let here = vec3<u32>(table[word], table[word + 1u], table[word + 2u]);
  let next = vec3<u32>(table[word + 1u], table[word + 2u], table[word + 3u]);
  if (shift == 0u) { return here; }
  return (here << vec3<u32>(shift)) | (next >> vec3<u32>(32u - shift));
}

// |x| * 2 / pi modulo 4, in integers.
fn reduce_large(magnitude: u32) -> Angle {
  let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  let bits = bits_of_two_over_pi((magnitude >> 23u) - 120u);
  let low = multiply_wide(mantissa, bits.z);
  let middle = multiply_wide(mantissa, bits.y);
  let word = low.y + middle.x;
  let high = mantissa * bits.x + middle.y + select(0u, 1u, word < middle.x);
  let turns = (high << 2u) | (word >> 30u);  // below the two bits of the quadrant, signed: rounds to nearest
  let finer = (word << 2u) | (low.x >> 30u);
  let fraction = fma(f32(finer), 5.42101086e-20, f32(bitcast<i32>(turns)) * 2.32830644e-10);
  return Angle((high >> 30u) + (turns >> 31u), fraction * 1.57079633);
}

fn reduce_angle(x: f32) -> Angle {
  if (abs(x) > 8192.0) {
    let angle = reduce_large(bitcast<u32>(x) & 0x7fffffffu);
    if (x > 0.0) { return angle; }
    return Angle(0u - angle.quadrant, -angle.rest);
  }
  let k = round(x * 0.636619772);
  // pi / 2 in parts of 11 bits, whose products with k are exact; max() keeps a compiler from adding
  // them up.
  let first = max(fma(k, -1.5703125, x), -8.0);
  let second = max(fma(k, -0.000483751297, first), -8.0);
  let third = max(fma(k, -7.54953362e-8, second), -8.0);
  return Angle(bitcast<u32>(i32(k)), fma(k, -2.56334415e-12, third));
}

fn sin_or_cos(angle: Angle) -> f32 {
  let t = angle.rest * angle.rest;
  let sine = 1.0 / 6.0 - t * (1.0 / 120.0 - t * (1.0 / 5040.0 - t * (1.0 / 362880.0)));
  let cosine = 0.5 - t * (1.0 / 24.0 - t * (1.0 / 720.0 - t * (1.0 / 40320.0)));
  let value = select(fma(-angle.rest * t, sine, angle.rest), fma(-t, cosine, 1.0), (angle.quadrant & 1u) == 1u);
  return select(value, -value, (angle.quadrant & 2u) == 2u);
}

fn sin_f32(x: f32) -> f32 {
  if (is_nan(x) || is_inf(x)) { return make_nan(x); }
  return sin_or_cos(reduce_angle(x));
}
fn cos_f32(x: f32) -> f32 {
  if (is_nan(x) || is_inf(x)) { return make_nan(x); }
  let angle = reduce_angle(x);
  return sin_or_cos(Angle(angle.quadrant + 1u, angle.rest));
}
fn tan_f32(x: f32) -> f32 {
  if (is_nan(x) || is_inf(x)) { return make_nan(x); }
  let angle = reduce_angle(x);
  return sin_or_cos(angle) / sin_or_cos(Angle(angle.quadrant + 1u, angle.rest));
}
