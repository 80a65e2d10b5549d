// mxfp4: the power of two e - 127, 32 of E2M1: i and i + 16 in a byte. 2^-127 is 0. Includes: small_floats.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let half = bitcast<f32>((max(byte_at(at), 1u) - 1u) << 23u);
  return 2.0 * float_of_e2m1(nibbles_of(bytes_of(word_at(at + 1u + i % 16u)), i / 16u)) * half;
}
