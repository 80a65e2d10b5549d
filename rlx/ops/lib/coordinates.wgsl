// Where the element with the coordinates of i lies, by the strides of each dim.
// Constants: DIMS. Params: view (extent and stride of each dim), offset.

fn offset_of(i: u32) -> u32 {
  var at = params.offset;
  var rest = i;
  for (var d = DIMS; d > 0u; d--) {
    let entry = 2u * (d - 1u);
    let extent = params.view[entry / 4u][entry % 4u];
    at += rest % extent * params.view[entry / 4u][entry % 4u + 1u];
    rest /= extent;
  }
  return at;
}
