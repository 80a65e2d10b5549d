// iq4_nl: d, nibbles of i and i + 16 in a byte, which number levels. Includes: levels.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  return levels_of(nibbles_of(bytes_of(word_at(at + 2u + i % 16u)), i / 16u)) * half_at(at);
}
