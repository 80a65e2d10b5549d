// Element i of the regions of x: a bin of a region, the mean or the largest of the points sampled in it.
// Constants: MOST points where none are given, MAXIMUM, HALF_PIXEL. Includes: numbers.
// Params: count, channels, height, width of x; rows, columns of a region's bins; samples along each axis of a
// bin, 0 for as many as it has elements; scale of the regions.

struct Bin {
  first: f32,  // where its first point lies
  step: f32,
  points: u32,
}

fn bin_of(from_edge: f32, to_edge: f32, bin: u32, bins: u32) -> Bin {
  let shift = select(0.0, 0.5, HALF_PIXEL);
  let start = from_edge * params.scale - shift;
  var length = to_edge * params.scale - shift - start;
  if (!HALF_PIXEL) { length = max(length, 1.0); }
  let size = length / f32(bins);
  var points = params.samples;
  if (points == 0u && size > 0.0) { points = u32(min(ceil(size), MOST)); }
  let step = size / f32(max(points, 1u));
  return Bin(start + f32(bin) * size + 0.5 * step, step, points);
}

struct Point {
  low: u32,
  high: u32,
  fraction: f32,
  outside: bool,
}

fn point_at(place: f32, extent: u32) -> Point {
  if (!(place >= -1.0 && place <= f32(extent))) { return Point(0u, 0u, 0.0, true); }
  let c = max(place, 0.0);
  let low = u32(c);
  if (low + 1u >= extent) { return Point(extent - 1u, extent - 1u, 0.0, false); }
  return Point(low, low + 1u, c - f32(low), false);
}

fn compute(i: u32) -> T {
  let roi = i / (params.columns * params.rows * params.channels);
  let channel = i / (params.columns * params.rows) % params.channels;
  let picture = i32(load_pictures(roi));
  if (picture < 0 || picture >= i32(params.count)) {
    raise_flag(FLAG_PICTURE, picture);
    return T(0.0);
  }
  let plane = (u32(picture) * params.channels + channel) * params.height;
  let down = i / params.columns % params.rows;
  let vertical = bin_of(load_rois(roi * 4u + 1u), load_rois(roi * 4u + 3u), down, params.rows);
  let horizontal = bin_of(load_rois(roi * 4u), load_rois(roi * 4u + 2u), i % params.columns, params.columns);
  var total = 0.0;
  var highest = -infinity();
  for (var r = 0u; r < vertical.points; r++) {
    let row = point_at(vertical.first + f32(r) * vertical.step, params.height);
    for (var c = 0u; c < horizontal.points; c++) {
      let column = point_at(horizontal.first + f32(c) * horizontal.step, params.width);
      var parts = vec4<f32>();
      if (!row.outside && !column.outside) {
        let above = (plane + row.low) * params.width;
        let below = (plane + row.high) * params.width;
        parts = vec4<f32>(load_x(above + column.low), load_x(above + column.high),
                          load_x(below + column.low), load_x(below + column.high));
        let a = row.fraction;
        let b = column.fraction;
        parts *= vec4<f32>((1.0 - a) * (1.0 - b), (1.0 - a) * b, a * (1.0 - b), a * b);
      }
      total += parts.x + parts.y + parts.z + parts.w;
      highest = max(highest, max(max(parts.x, parts.y), max(parts.z, parts.w)));
    }
  }
  let points = vertical.points * horizontal.points;
  if (points == 0u) { return T(0.0); }
  return T(select(total / f32(points), highest, MAXIMUM));
}
