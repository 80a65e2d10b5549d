// fp8_e4m3: one byte each. Includes: small_floats.
fn decode4(at: u32, i: u32) -> vec4<f32> { return float_of_e4m3(bytes_of(word_at(at + i))); }
