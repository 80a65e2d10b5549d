// Rows of blocks as words: bytes at any place, and what they are.
// Constants: ALIGNED (all that is read as a word is one of w's), RAGGED (k may be no multiple of 4).
// Params: k, w_first (the first row that is bound), w_word and w_byte (where it begins).

fn word_at(at: u32) -> u32 {
  let byte = params.w_byte + at;
  let i = params.w_word + byte / 4u;
  let shift = byte % 4u * 8u;
  let low = load_w(i) >> shift;
  if (ALIGNED || shift == 0u) { return low; }
  return low | (load_w(i + 1u) << (32u - shift));
}
fn byte_at(at: u32) -> u32 {
  let byte = params.w_byte + at;
  return extractBits(load_w(params.w_word + byte / 4u), byte % 4u * 8u, 8u);
}
fn half_at(at: u32) -> f32 { return unpack2x16float(word_at(at)).x; }
fn halves_at(at: u32) -> vec2<f32> { return unpack2x16float(word_at(at)); }

fn bytes_of(word: u32) -> vec4<u32> { return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u); }
fn signed_bytes_of(word: u32) -> vec4<f32> {
  return vec4<f32>((vec4<i32>(bitcast<i32>(word)) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u));
}
fn nibbles_of(bytes: vec4<u32>, high: u32) -> vec4<u32> { return (bytes >> vec4<u32>(high * 4u)) & vec4<u32>(15u); }

// Which of four elements from k on there are.
fn exists4(k: u32) -> vec4<bool> { return vec4<u32>(k, k + 1u, k + 2u, k + 3u) < vec4<u32>(params.k); }
