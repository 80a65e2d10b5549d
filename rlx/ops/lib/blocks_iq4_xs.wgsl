// iq4_xs: d, high bits of scales in a word, their low bits, then 16 bytes for 32 elements. Includes: levels.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let part = i / 32u;
  let head = word_at(at);
  let high = (head >> (16u + 2u * part)) & 3u;
  let low = (word_at(at + 4u) >> (4u * part)) & 15u;
  let scale = unpack2x16float(head).x * f32(i32(low | (high << 4u)) - 32);
  return levels_of(nibbles_of(bytes_of(word_at(at + 8u + part * 16u + i % 16u)), i % 32u / 16u)) * scale;
}
