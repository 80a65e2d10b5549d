// nvfp4: a scale of E4M3, 16 of E2M1, the first in the low bits. Includes: small_floats.
fn decode4(at: u32, i: u32) -> vec4<f32> {
  let scale = float_of_e4m3(vec4<u32>(byte_at(at))).x;
  let q = (vec4<u32>(word_at(at + 1u + i / 2u)) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
  return float_of_e2m1(q) * scale;
}
