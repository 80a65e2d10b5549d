// q4_k: d, dmin, 8 scales and minima of 6 bits, nibbles of 64 elements in 32 bytes. Includes: six_bits.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let d = halves_at(at) * six_bits(at + 4u, i / 32u);
  return vec4<f32>(nibbles_of(bytes_of(word_at(at + 16u + i / 64u * 32u + i % 32u)), i / 32u % 2u)) * d.x - d.y;
}
