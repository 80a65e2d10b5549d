// What sorting compares floats by.

// The bits of a float as a number in the order of the floats; zeros are equal, NaN is the largest.
fn float_key(v: f32) -> u32 {
  let bits = bitcast<u32>(v);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return 0xffffffffu; }
  if (magnitude == 0u) { return 0x80000000u; }
  return select(bits | 0x80000000u, ~bits, bits != magnitude);
}
