// Pairs (highest, sum of exp(x - highest)) of sets of numbers, for logsumexp. Includes: numbers,
// functions.

fn join_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  if (is_nan(a.x) || is_nan(b.x)) { return vec2<f32>(make_nan(a.x), 1.0); }
  let first = a.x >= b.x;
  let high = select(b, a, first);
  let low = select(a, b, first);
  if (high.x == low.x) { return vec2<f32>(high.x, high.y + low.y); }  // infinities too
  return vec2<f32>(high.x, high.y + low.y * exp_f32(low.x - high.x));
}
