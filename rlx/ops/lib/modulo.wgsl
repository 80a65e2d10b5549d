// Remainders of floats, exact: in integers, a few bits of the quotient at a time.
// Includes: numbers.

fn fmod_f32(x: f32, y: f32) -> f32 {
  let sign = bitcast<u32>(x) & 0x80000000u;
  let a = bitcast<u32>(x) & 0x7fffffffu;
  let b = bitcast<u32>(y) & 0x7fffffffu;
  if (is_nan(x) || is_nan(y) || is_inf(x) || b == 0u) { return make_nan(x); }
  if (a < b) { return x; }
  let exponent = max(b >> 23u, 1u);
  let divisor = (b & 0x7fffffu) | select(0u, 0x800000u, b >= 0x800000u);
  var rest = ((a & 0x7fffffu) | select(0u, 0x800000u, a >= 0x800000u)) % divisor;
  for (var shifts = max(a >> 23u, 1u) - exponent; shifts > 0u && rest > 0u;) {
    let step = min(shifts, 8u);
    rest = (rest << step) % divisor;
    shifts -= step;
  }
  if (rest == 0u) { return bitcast<f32>(sign); }
  let missing = countLeadingZeros(rest) - 8u;  // to a full mantissa
  if (missing >= exponent) { return bitcast<f32>(sign | (rest << (exponent - 1u))); }
  return bitcast<f32>(sign | ((exponent - missing) << 23u) | ((rest << missing) & 0x7fffffu));
}

fn mod_f32(x: f32, y: f32) -> f32 {
  let rest = fmod_f32(x, y);
  let opposite = ((bitcast<u32>(rest) ^ bitcast<u32>(y)) & 0x80000000u) != 0u;
  return select(rest, rest + y, opposite && (bitcast<u32>(rest) & 0x7fffffffu) != 0u && !is_nan(rest));
}
