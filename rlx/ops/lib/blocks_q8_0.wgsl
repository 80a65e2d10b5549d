// q8_0: d, signed bytes.
fn decode4(at: u32, i: u32) -> vec4<f32> { return signed_bytes_of(word_at(at + 2u + i)) * half_at(at); }
