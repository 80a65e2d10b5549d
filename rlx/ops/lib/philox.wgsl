// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): four random words of a
// counter and a key. Rounds are keyed by the words of the golden ratio and of sqrt(3) - 1.

fn high_product(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var round_index = 0u; round_index < 10u; round_index++) {
    c = vec4<u32>(high_product(0xcd9e8d57u, c.z) ^ c.y ^ k.x, 0xcd9e8d57u * c.z,
                  high_product(0xd2511f53u, c.x) ^ c.w ^ k.y, 0xd2511f53u * c.x);
    k += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}

// 24 bits of a word, in [0, 1): exact, so alike on every device.
fn unit_uniform(word: u32) -> f32 { return f32(word >> 8u) * 5.9604644775390625e-8; }
