// Where the matrices of a batch begin, and how an element of the product is stored.
// Constants: BATCH_RANK. Params: batch (extent and both strides of each dim), a_first, b_first, m, n, m_end,
// n_end. Functions: a_value, b_value (of an element), start (what the sum is added to), finish (what is stored).

fn batch_offsets(batch: u32) -> vec2<u32> {
  var rest = batch;
  var at = vec2<u32>(params.a_first, params.b_first);
  for (var d = BATCH_RANK; d > 0u; d--) {
    let e = 3u * d - 3u;
    let extent = params.batch[e / 4u][e % 4u];
    let stride = vec2<u32>(params.batch[(e + 1u) / 4u][(e + 1u) % 4u], params.batch[(e + 2u) / 4u][(e + 2u) % 4u]);
    at += rest % extent * stride;
    rest = rest / extent;
  }
  return at;
}

fn put(batch: u32, row: u32, column: u32, v: T) {
  if (row >= params.m_end || column >= params.n_end) { return; }
  let i = (batch * params.m + row) * params.n + column;
  store_y(i, finish(start(i) + v, batch * params.m + row, column));
}
