// The levels of iq4_nl and iq4_xs.
const LEVELS = array<f32, 16>(-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0,
                              69.0, 89.0, 113.0);
fn levels_of(q: vec4<u32>) -> vec4<f32> {
  var levels = LEVELS;
  return vec4<f32>(levels[q.x], levels[q.y], levels[q.z], levels[q.w]);
}
