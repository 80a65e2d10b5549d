// Element i of x resized: the nearest element, or a sum of those around its coordinates.
// Includes: resize.

var<private> sources: array<Source, DIMS>;
var<private> weights: array<f32, DIMS>;
var<private> offsets: array<u32, DIMS>;

fn take(d: u32, step: i32) {
  weights[d] = raw_weight(d, sources[d], step) / sources[d].total;
  offsets[d] = u32(clamped(d, sources[d].base + step)) * dim_of(d).z;
}

fn weighted_sum(first: u32) -> f32 {
  var steps: array<i32, DIMS>;
  for (var d = 0u; d < DIMS; d++) {
    steps[d] = 1 - line_of(d).w;
    if (dim_of(d).w != 0u) { take(d, steps[d]); }
  }
  var sum = 0.0;
  loop {
    var weight = 1.0;
    var at = first;
    for (var d = 0u; d < DIMS; d++) {
      weight *= weights[d];
      at += offsets[d];
    }
    if (weight != 0.0) { sum += weight * number_at(at); }  // 0 times infinity is not 0
    var d = DIMS;
    var more = false;
    while (d > 0u && !more) {  // counts like an odometer
      d--;
      if (dim_of(d).w == 0u) { continue; }
      steps[d]++;
      more = steps[d] <= line_of(d).w;
      if (!more) { steps[d] = 1 - line_of(d).w; }
      take(d, steps[d]);
    }
    if (!more) { break; }
  }
  return sum;
}

fn compute(i: u32) -> T {
  var at = params.offset;
  var rest = i;
  for (var d = DIMS; d > 0u; d--) {
    let dim = dim_of(d - 1u);
    let c = rest % dim.x;
    rest /= dim.x;
    weights[d - 1u] = 1.0;
    offsets[d - 1u] = 0u;
    if (dim.w == 0u) {
      at += c * dim.z;
    } else if (is_cropped(d - 1u, c)) {
      return outside();
    } else if (MODE == 0u) {
      at += u32(nearest(d - 1u, c)) * dim.z;
    } else {
      sources[d - 1u] = source_of(d - 1u, c);
    }
  }
  return result_at(at);
}
