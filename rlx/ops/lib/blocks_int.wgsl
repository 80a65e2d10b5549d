// int2_block .. int8_block_asym: an f32 scale, perhaps an f32 zero point, then BITS bits each, the lowest first.
// Constants: BITS, HAS_ZERO.

const HEADER = select(4u, 8u, HAS_ZERO);

fn quad(at: u32, i: u32) -> vec4<u32> {
  let bit = i * BITS;
  // Three bits may begin anywhere and lie in two words.
  let word = select(word_at(at + HEADER + bit / 32u * 4u) >> (bit % 32u), word_at(at + HEADER + bit / 8u) >> (bit % 8u),
                    BITS == 3u);
  return (vec4<u32>(word) >> (vec4<u32>(0u, 1u, 2u, 3u) * BITS)) & vec4<u32>((1u << BITS) - 1u);
}
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let scale = bitcast<f32>(word_at(at));
  let q = quad(at, i);
  if (HAS_ZERO) { return (vec4<f32>(q) - bitcast<f32>(word_at(at + 4u))) * scale; }
  const half = 1u << (BITS - 1u);
  return vec4<f32>(vec4<i32>(q ^ vec4<u32>(half)) - vec4<i32>(i32(half))) * scale;
}
