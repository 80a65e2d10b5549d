// q5_0: d, the fifth bits as a word, nibbles of i and i + 16 in a byte; less 16.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let fifth = ((vec4<u32>(word_at(at + 2u) >> i) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u)) << vec4<u32>(4u);
  return (vec4<f32>(nibbles_of(bytes_of(word_at(at + 6u + i % 16u)), i / 16u) | fifth) - 16.0) * half_at(at);
}
