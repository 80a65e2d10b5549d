// q8_k: d as f32, signed bytes, sums that are not needed here.
fn decode4(at: u32, i: u32) -> vec4<f32> { return signed_bytes_of(word_at(at + 4u + i)) * bitcast<f32>(word_at(at)); }
