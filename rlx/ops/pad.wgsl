// Element i of x with elements put around it, or taken off where there are fewer than none before.
// Constants: DIMS, MODE (0 constant, 1 reflect, 2 edge, 3 wrap). Prelude: fill().
// params.dims holds of each dim the extent of the result, that of x, the elements before, and the stride in x.
// Loads: x 1 for each result.

// The coordinate in x that is seen at c.
fn mirrored(c: i32, extent: i32) -> i32 {
  let period = max(2 * (extent - 1), 1);
  let at = (c % period + period) % period;
  return select(at, period - at, at >= extent);
}
fn seen(c: i32, extent: i32) -> i32 {
  if (MODE == 1u) { return mirrored(c, extent); }
  if (MODE == 2u) { return max(min(c, extent - 1), 0); }
  return (c % max(extent, 1) + extent) % max(extent, 1);
}

fn compute(i: u32) -> T {
  var at = params.offset;
  var rest = i;
  for (var d = DIMS; d > 0u; d--) {
    let dim = params.dims[d - 1u];
    let extent = i32(dim.y);
    var c = i32(rest % dim.x) - i32(dim.z);
    rest /= dim.x;
    if (MODE != 0u) { c = seen(c, extent); }
    if (c < 0 || c >= extent) { return fill(); }
    at += u32(c) * dim.w;
  }
  return load_x(at);
}
