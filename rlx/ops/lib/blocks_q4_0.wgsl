// q4_0: d, nibbles of i and i + 16 in a byte, less 8.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  return (vec4<f32>(nibbles_of(bytes_of(word_at(at + 2u + i % 16u)), i / 16u)) - 8.0) * half_at(at);
}
