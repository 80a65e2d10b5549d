// Scale and minimum of a part of q4_k and q5_k, six bits each, in 12 bytes.
fn six_bits(at: u32, part: u32) -> vec2<f32> {
  let shift = part % 4u * 8u;
  let first = word_at(at) >> shift;
  let second = word_at(at + 4u) >> shift;
  if (part < 4u) { return vec2<f32>(vec2<u32>(first & 63u, second & 63u)); }
  let third = word_at(at + 8u) >> shift;
  return vec2<f32>(vec2<u32>((third & 15u) | ((first >> 2u) & 48u), ((third >> 4u) & 15u) | ((second >> 2u) & 48u)));
}
