// q3_k: the third bit of element i is bit i / 32 of byte i % 32, two bits of 128 elements in 32 bytes, 16 scales of 6
// bits, d.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let part = i / 16u;
  let low = (byte_at(at + 96u + part % 8u) >> (part / 8u * 4u)) & 15u;
  let high = (byte_at(at + 104u + part % 4u) >> (part / 4u * 2u)) & 3u;
  let scale = half_at(at + 108u) * f32(i32(low | (high << 4u)) - 32);
  let two = (bytes_of(word_at(at + 32u + i / 128u * 32u + i % 32u)) >> vec4<u32>(i % 128u / 32u * 2u)) & vec4<u32>(3u);
  let third = (bytes_of(word_at(at + i % 32u)) >> vec4<u32>(i / 32u)) & vec4<u32>(1u);
  return (vec4<f32>(two | (third << vec4<u32>(2u))) - 4.0) * scale;
}
