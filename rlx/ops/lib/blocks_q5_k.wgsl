// q5_k: as q4_k; the fifth bit of element i is bit i / 32 of byte i % 32. Includes: six_bits.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let d = halves_at(at) * six_bits(at + 4u, i / 32u);
  let fifth = (bytes_of(word_at(at + 16u + i % 32u)) >> vec4<u32>(i / 32u)) & vec4<u32>(1u);
  let low = nibbles_of(bytes_of(word_at(at + 48u + i / 64u * 32u + i % 32u)), i / 32u % 2u);
  return vec4<f32>(low | (fifth << vec4<u32>(4u))) * d.x - d.y;
}
