// q6_k: nibbles of 128 elements in 64 bytes, two bits of them in 32, 16 signed scales, d; less 32.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let scale = half_at(at + 208u) * f32(extractBits(bitcast<i32>(byte_at(at + 192u + i / 16u)), 0u, 8u));
  let low = nibbles_of(bytes_of(word_at(at + i / 128u * 64u + i % 64u)), i % 128u / 64u);
  let high = (bytes_of(word_at(at + 128u + i / 128u * 32u + i % 32u)) >> vec4<u32>(i % 128u / 32u * 2u)) & vec4<u32>(3u);
  return (vec4<f32>(low | (high << vec4<u32>(4u))) - 32.0) * scale;
}
