// Element i of [batch, tuples, inner] belongs where a tuple of TUPLE indices into the axes of a batch says.
// Constants: TUPLE. Params: axes (length and stride of each), inner, tuples, batch_stride. Includes: indices.

fn place_of(i: u32) -> u32 {
  let tuple = i / params.inner;
  var at = tuple / params.tuples * params.batch_stride + i % params.inner;
  for (var k = 0u; k < TUPLE; k++) {
    let length = params.axes[k / 2u][k % 2u * 2u];
    at += index_within(i32(load_indices(tuple * TUPLE + k)), length) * params.axes[k / 2u][k % 2u * 2u + 1u];
  }
  return at;
}
