// Element i of x sampled at the place the grid names.
// Constants: MODE (0 nearest, 1 linear, 2 cubic), PADDING (0 zeros, 1 border, 2 reflection), ALIGN_CORNERS.
// Params: channels, height, width of x; places: how many the grid has. Includes: numbers.

fn coordinate(place: f32, extent: f32) -> f32 {
  if (ALIGN_CORNERS) { return (place + 1.0) * 0.5 * (extent - 1.0); }
  return ((place + 1.0) * extent - 1.0) * 0.5;
}

fn reflected(c: f32, extent: f32) -> f32 {
  let low = select(-0.5, 0.0, ALIGN_CORNERS);
  let span = select(extent, extent - 1.0, ALIGN_CORNERS);
  if (span == 0.0) { return 0.0; }
  let far = abs(c - low);
  let turned = far - floor(far / (2.0 * span)) * 2.0 * span;
  return low + select(turned, 2.0 * span - turned, turned > span);
}

// Where a coordinate beyond the edge looks instead.
fn inside(c: f32, extent: f32) -> f32 {
  if (PADDING == 0u) { return c; }
  var at = c;
  if (PADDING == 2u) { at = reflected(c, extent); }
  if (is_nan(at)) { return 0.0; }
  return clamp(at, 0.0, extent - 1.0);
}

fn cubic_weight(distance: f32) -> f32 {
  let x = abs(distance);
  if (x <= 1.0) { return (1.25 * x - 2.25) * x * x + 1.0; }
  if (x < 2.0) { return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0; }
  return 0.0;
}

// The elements along one axis and their weights; those outside have none.
struct Taps {
  at: array<u32, 4>,
  weight: array<f32, 4>,
}
const TAPS = select(select(4u, 2u, MODE == 1u), 1u, MODE == 0u);

fn taps_of(place: f32, extent: u32) -> Taps {
  let whole = f32(extent);
  let raw = coordinate(place, whole);
  var c = raw;
  if (MODE != 2u) { c = inside(raw, whole); }
  let base = floor(c);
  var taps: Taps;
  for (var k = 0u; k < TAPS; k++) {
    var at = base + f32(k);
    var weight = select(c - base, 1.0 - (c - base), k == 0u);
    if (MODE == 0u) {
      at = round(c);
      weight = 1.0;
    }
    if (MODE == 2u) {
      at = inside(base + f32(k) - 1.0, whole);
      weight = cubic_weight(f32(k) - 1.0 - (c - base));
    }
    let there = at >= 0.0 && at < whole && !is_nan(at);
    taps.at[k] = u32(select(0.0, at, there));
    taps.weight[k] = select(0.0, weight, there);
  }
  return taps;
}

fn compute(i: u32) -> T {
  let plane = i / params.places;
  let at = (plane / params.channels * params.places + i % params.places) * 2u;
  var rows = taps_of(f32(load_grid(at + 1u)), params.height);
  var columns = taps_of(f32(load_grid(at)), params.width);
  var sum = 0.0;
  for (var r = 0u; r < TAPS; r++) {
    for (var c = 0u; c < TAPS; c++) {
      let weight = rows.weight[r] * columns.weight[c];
      if (weight != 0.0) {  // 0 times infinity is not 0
        sum += weight * load_x((plane * params.height + rows.at[r]) * params.width + columns.at[c]);
      }
    }
  }
  return T(sum);
}
