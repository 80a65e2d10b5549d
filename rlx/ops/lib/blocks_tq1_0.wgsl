// tq1_0: digits of base 3, of which a byte has five as a fraction of 256; d.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  const powers = vec4<u32>(1u, 3u, 9u, 27u);
  var byte = i % 32u;
  var digit = i / 32u;
  if (i >= 240u) {
    byte = 48u;
    digit = (i - 240u) / 4u;
  } else if (i >= 160u) {
    byte = 32u + i % 16u;
    digit = (i - 160u) / 16u;
  }
  var power = 81u;
  if (digit < 4u) { power = powers[digit]; }
  let rest = (bytes_of(word_at(at + byte)) * power) & vec4<u32>(255u);
  return (vec4<f32>((rest * 3u) >> vec4<u32>(8u)) - 1.0) * half_at(at + 52u);
}
