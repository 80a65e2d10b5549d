// Floats of 4 and 8 bits, as OCP has them.

fn float_of_e4m3(b: vec4<u32>) -> vec4<f32> {
  let exponent = (b >> vec4<u32>(3u)) & vec4<u32>(15u);
  let digits = b & vec4<u32>(7u);
  let normal = bitcast<vec4<f32>>(((exponent + vec4<u32>(120u)) << vec4<u32>(23u)) | (digits << vec4<u32>(20u)));
  let magnitude = select(normal, vec4<f32>(digits) * 0x1p-9f, exponent == vec4<u32>());
  let bits = select(bitcast<vec4<u32>>(magnitude), vec4<u32>(0x7fc00000u), (b & vec4<u32>(127u)) == vec4<u32>(127u));
  return bitcast<vec4<f32>>(bits | ((b & vec4<u32>(128u)) << vec4<u32>(24u)));
}
fn float_of_e5m2(b: vec4<u32>) -> vec4<f32> {
  let exponent = (b >> vec4<u32>(2u)) & vec4<u32>(31u);
  let digits = b & vec4<u32>(3u);
  let special = vec4<u32>(0x7f800000u) | (digits << vec4<u32>(21u));
  let normal = ((exponent + vec4<u32>(112u)) << vec4<u32>(23u)) | (digits << vec4<u32>(21u));
  let magnitude = select(bitcast<vec4<f32>>(normal), vec4<f32>(digits) * 0x1p-16f, exponent == vec4<u32>());
  let bits = select(bitcast<vec4<u32>>(magnitude), special, exponent == vec4<u32>(31u));
  return bitcast<vec4<f32>>(bits | ((b & vec4<u32>(128u)) << vec4<u32>(24u)));
}
fn float_of_e2m1(n: vec4<u32>) -> vec4<f32> {
  let exponent = (n >> vec4<u32>(1u)) & vec4<u32>(3u);
  let digit = n & vec4<u32>(1u);
  let normal = bitcast<vec4<f32>>(((exponent + vec4<u32>(126u)) << vec4<u32>(23u)) | (digit << vec4<u32>(22u)));
  let magnitude = select(normal, vec4<f32>(digit) * 0.5, exponent == vec4<u32>());
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(magnitude) | ((n & vec4<u32>(8u)) << vec4<u32>(28u)));
}
