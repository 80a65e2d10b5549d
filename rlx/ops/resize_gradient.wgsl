// What element i of x gave to the elements of its resized form: the sum of dy over those, by weight.
// Strides are those of dy. Includes: resize.

// The elements of the result that may see element j: from x to y.
fn seen_from(d: u32, j: u32) -> vec2<i32> {
  let dim = dim_of(d);
  let line = line_of(d);
  let last = i32(dim.x) - 1;
  if (line.x <= 0) { return vec2<i32>(0, last); }
  let low = floor((f32(i32(j) - line.w) * f32(line.z) - f32(line.y)) / f32(line.x)) - 1.0;
  let high = ceil((f32(i32(j) + line.w) * f32(line.z) - f32(line.y)) / f32(line.x)) + 1.0;
  // What lies outside sees the first and the last element.
  let first = select(max(i32(clamp(low, 0.0, f32(dim.x))), 0), 0, j == 0u);
  return vec2<i32>(first, select(min(i32(clamp(high, -1.0, f32(dim.x))), last), last, j + 1u == dim.y));
}

fn weight_of(d: u32, i: u32, j: i32) -> f32 {
  if (is_cropped(d, i)) { return 0.0; }
  if (MODE == 0u) { return select(0.0, 1.0, nearest(d, i) == j); }
  let source = source_of(d, i);
  let reach = line_of(d).w;
  var sum = 0.0;
  for (var step = 1 - reach; step <= reach; step++) {
    if (clamped(d, source.base + step) == j) { sum += raw_weight(d, source, step); }
  }
  return sum / source.total;
}

var<private> weights: array<f32, DIMS>;
var<private> places: array<i32, DIMS>;

fn compute(i: u32) -> T {
  var spans: array<vec2<i32>, DIMS>;
  var targets: array<i32, DIMS>;
  var first = params.offset;
  var rest = i;
  for (var d = DIMS; d > 0u; d--) {
    let dim = dim_of(d - 1u);
    let c = rest % dim.y;
    rest /= dim.y;
    targets[d - 1u] = i32(c);
    weights[d - 1u] = 1.0;
    places[d - 1u] = 0;
    if (dim.w == 0u) {
      first += c * dim.z;
      continue;
    }
    let span = seen_from(d - 1u, c);
    if (span.x > span.y) { return 0.0; }
    spans[d - 1u] = span;
    places[d - 1u] = span.x;
    weights[d - 1u] = weight_of(d - 1u, u32(span.x), i32(c));
  }
  var sum = 0.0;
  loop {
    var weight = 1.0;
    var at = first;
    for (var d = 0u; d < DIMS; d++) {
      weight *= weights[d];
      at += u32(places[d]) * dim_of(d).z;
    }
    if (weight != 0.0) { sum += weight * number_at(at); }
    var d = DIMS;
    var more = false;
    while (d > 0u && !more) {
      d--;
      if (dim_of(d).w == 0u) { continue; }
      places[d]++;
      more = places[d] <= spans[d].y;
      if (!more) { places[d] = spans[d].x; }
      weights[d] = weight_of(d, u32(places[d]), targets[d]);
    }
    if (!more) { break; }
  }
  return sum;
}
