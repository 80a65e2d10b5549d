// q2_k: nibbles of scale and minimum for each 16, two bits of 128 elements in 32 bytes, d and dmin.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let small = byte_at(at + i / 16u);
  let d = halves_at(at + 80u) * vec2<f32>(vec2<u32>(small & 15u, small >> 4u));
  let q = (bytes_of(word_at(at + 16u + i / 128u * 32u + i % 32u)) >> vec4<u32>(i % 128u / 32u * 2u)) & vec4<u32>(3u);
  return vec4<f32>(q) * d.x - d.y;
}
