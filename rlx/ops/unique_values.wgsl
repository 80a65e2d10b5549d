// Element i of the different slices: that of the first of its group. Params: kept slices, inner elements side by
// side in each; count of x's slices.

fn compute(i: u32) -> T {
  let place = i / params.inner % params.kept;
  let outer = i / params.inner / params.kept;
  return load_x((outer * params.count + u32(load_indices(place))) * params.inner + i % params.inner);
}
