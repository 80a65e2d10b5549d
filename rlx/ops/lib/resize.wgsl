// Where an element of a resized axis comes from. The coordinate of element i is the fraction (A i + B) / C, so that
// ties between two elements are the same on every device.
// Constants: DIMS, MODE (0 nearest, 1 linear, 2 cubic), ROUNDING (of nearest: 0 floor, 1 ceil, 2 prefers floor, 3
// prefers ceil), NORMALISE, EXCLUDE_OUTSIDE, ANTIALIAS, CROPS. Params: dims, three vectors of each: extent of the larger graph's
// result, of x, stride, whether it is resized; A, B, C, reach; and the scale as p, q and the bits of an f32, and whether
// nearest is found in f32: 0 not, 1 by those bits, 2 by p / q. BEFORE, AFTER: (i + BEFORE) / scale - AFTER is the
// coordinate in f32. cubic_a, outside_value.

struct Source {
  base: i32,      // the element at or before the coordinate
  fraction: f32,  // of the way to the next
  total: f32,     // what the weights add up to
}

fn dim_of(d: u32) -> vec4<u32> { return params.dims[3u * d]; }
fn line_of(d: u32) -> vec4<i32> { return bitcast<vec4<i32>>(params.dims[3u * d + 1u]); }
fn floor_divide(a: i32, b: i32) -> i32 { return a / b - select(0, 1, a % b < 0); }

// a / b of positive normal numbers, rounded to nearest: a WGSL compiler's own division may be off by more.
fn divided(a: f32, b: f32) -> f32 {
  if (a <= 0.0) { return 0.0; }
  let a_bits = bitcast<u32>(a);
  let b_bits = bitcast<u32>(b);
  var rest = (a_bits & 0x7fffffu) | 0x800000u;
  let divisor = (b_bits & 0x7fffffu) | 0x800000u;
  var exponent = (a_bits >> 23u) + 127u - (b_bits >> 23u);
  if (rest < divisor) {
    rest <<= 1u;
    exponent -= 1u;
  }
  var quotient = 0u;
  for (var bit = 0u; bit < 24u; bit++) {
    quotient <<= 1u;
    if (rest >= divisor) {
      rest -= divisor;
      quotient |= 1u;
    }
    rest <<= 1u;
  }
  if (rest > divisor) { quotient += 1u; }  // half of a last place is never left
  return bitcast<f32>((exponent << 23u) + quotient - 0x800000u);
}

fn nearest_in_floats(i: u32, scales: vec4<u32>) -> i32 {
  var scale = bitcast<f32>(scales.z);
  if (scales.w == 2u) { scale = divided(f32(scales.x), f32(scales.y)); }
  let coordinate = divided(f32(i) + BEFORE, scale) - AFTER;
  let whole = floor(coordinate);
  let part = coordinate - whole;
  let at = i32(whole);
  if (ROUNDING == 0u) { return at; }
  if (ROUNDING == 1u) { return at + select(0, 1, part > 0.0); }
  if (abs(part - 0.5) < 1e-6) { return at + select(0, 1, ROUNDING == 3u); }
  return at + select(0, 1, part > 0.5);
}

fn nearest(d: u32, i: u32) -> i32 {
  let line = line_of(d);
  let scales = params.dims[3u * d + 2u];
  // A whole scale is a float as it is.
  if (FLOATS && scales.w != 0u && scales.x % scales.y != 0u) {
    return max(min(nearest_in_floats(i, scales), i32(dim_of(d).y) - 1), 0);
  }
  let n = line.x * i32(i) + line.y;
  var at = 0;
  if (ROUNDING == 0u) { at = floor_divide(n, line.z); }
  if (ROUNDING == 1u) { at = -floor_divide(-n, line.z); }
  if (ROUNDING == 2u) { at = -floor_divide(line.z - 2 * n, 2 * line.z); }
  if (ROUNDING == 3u) { at = floor_divide(line.z + 2 * n, 2 * line.z); }
  return max(min(at, i32(dim_of(d).y) - 1), 0);
}

// Is the coordinate of element i outside x, where cropping does not look?
fn is_cropped(d: u32, i: u32) -> bool {
  let line = line_of(d);
  let n = line.x * i32(i) + line.y;
  return CROPS && (n < 0 || n > (i32(dim_of(d).y) - 1) * line.z);
}

fn kernel_weight(distance: f32) -> f32 {
  let x = abs(distance);
  if (MODE == 1u) { return max(1.0 - x, 0.0); }
  let a = params.cubic_a;
  if (x <= 1.0) { return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0; }
  if (x < 2.0) { return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a; }
  return 0.0;
}

// The weight of the element `step` after the base, not yet divided by the total.
fn raw_weight(d: u32, source: Source, step: i32) -> f32 {
  let at = source.base + step;
  if (EXCLUDE_OUTSIDE && (at < 0 || at >= i32(dim_of(d).y))) { return 0.0; }
  let scale = params.dims[3u * d + 2u];
  return kernel_weight((f32(step) - source.fraction) * select(1.0, min(f32(scale.x) / f32(scale.y), 1.0), ANTIALIAS));
}

fn source_of(d: u32, i: u32) -> Source {
  let line = line_of(d);
  let n = line.x * i32(i) + line.y;
  let base = floor_divide(n, line.z);
  var source = Source(base, f32(n - base * line.z) / f32(line.z), 1.0);
  if (NORMALISE) {
    var total = 0.0;
    for (var step = 1 - line.w; step <= line.w; step++) { total += raw_weight(d, source, step); }
    source.total = total;
  }
  return source;
}

fn clamped(d: u32, at: i32) -> i32 { return max(min(at, i32(dim_of(d).y) - 1), 0); }
