// Element i of the spectrum of real samples from the transform of half as many numbers, or back.
// Constants: INVERSE. Params: half_count; given, wanted: numbers of a line of x and of the result; ends: a factor.

fn number(line: u32, k: u32) -> vec2<f32> {
  let at = 2u * (line * params.given + k % params.given);
  let z = vec2<f32>(f32(load_x(at)), f32(load_x(at + 1u)));
  return select(z, vec2<f32>(z.x, 0.0), INVERSE && k % params.half_count == 0u);
}

fn compute(i: u32) -> T {
  let line = i / (2u * params.wanted);
  let k = i / 2u % params.wanted;
  let a = number(line, k);
  let b = number(line, params.half_count - k) * vec2<f32>(1.0, -1.0);
  let d = a - b;
  // -i times the turn, or its conjugate.
  let turn = vec2<f32>(load_turns(2u * k), load_turns(2u * k + 1u));
  let t = vec2<f32>(turn.y, select(-turn.x, turn.x, INVERSE));
  var y = a + b + vec2<f32>(t.x * d.x - t.y * d.y, t.x * d.y + t.y * d.x);
  if (k % params.half_count == 0u) {
    y *= params.ends;
    if (!INVERSE) { y.y = 0.0; }
  }
  return T(select(y.x, y.y, i % 2u == 1u));
}
