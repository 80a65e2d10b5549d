// q4_1: d, m, nibbles of i and i + 16 in a byte.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let d = halves_at(at);
  return vec4<f32>(nibbles_of(bytes_of(word_at(at + 4u + i % 16u)), i / 16u)) * d.x + d.y;
}
