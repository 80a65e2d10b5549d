// tq2_0: two bits of 128 elements in 32 bytes, less 1; d.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let q = (bytes_of(word_at(at + i / 128u * 32u + i % 32u)) >> vec4<u32>(i % 128u / 32u * 2u)) & vec4<u32>(3u);
  return (vec4<f32>(q) - 1.0) * half_at(at + 64u);
}
