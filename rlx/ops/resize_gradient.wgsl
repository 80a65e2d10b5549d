// What element i of x gave to the elements of its resized form along one axis: the sum of dy over those, by weight.
// Weights of several axes are products, so that axes are taken one after the other. Strides are those of dy.
// Includes: resize.

// The elements of the result that may see element j: from x to y.
fn seen_from(j: u32) -> vec2<i32> {
  let dim = dim_of(0u);
  let line = line_of(0u);
  let last = i32(dim.x) - 1;
  if (line.x <= 0) { return vec2<i32>(0, last); }
  let low = floor((f32(i32(j) - line.w) * f32(line.z) - f32(line.y)) / f32(line.x)) - 1.0;
  let high = ceil((f32(i32(j) + line.w) * f32(line.z) - f32(line.y)) / f32(line.x)) + 1.0;
  // What lies outside sees the first and the last element.
  let first = select(max(i32(clamp(low, 0.0, f32(dim.x))), 0), 0, j == 0u);
  return vec2<i32>(first, select(min(i32(clamp(high, -1.0, f32(dim.x))), last), last, j + 1u == dim.y));
}

fn weight_of(i: u32, j: i32) -> f32 {
  if (is_cropped(0u, i)) { return 0.0; }
  if (MODE == 0u) { return select(0.0, 1.0, nearest(0u, i) == j); }
  let source = source_of(0u, i);
  let reach = line_of(0u).w;
  // An element at an end stands for all beyond it.
  let first = select(j - source.base, 1 - reach, j == 0);
  let last = select(j - source.base, reach, j + 1 == i32(dim_of(0u).y));
  var sum = 0.0;
  for (var step = max(first, 1 - reach); step <= min(last, reach); step++) { sum += raw_weight(0u, source, step); }
  return sum / source.total;
}

fn compute(i: u32) -> T {
  let dim = dim_of(0u);
  let j = i / dim.z % dim.y;
  let first = i / dim.z / dim.y * dim.x * dim.z + i % dim.z;
  let span = seen_from(j);
  var sum = 0.0;
  for (var place = span.x; place <= span.y; place++) {
    let weight = weight_of(u32(place), i32(j));
    if (weight != 0.0) { sum += weight * load_x(first + u32(place) * dim.z); }  // 0 times infinity is not 0
  }
  return sum;
}
