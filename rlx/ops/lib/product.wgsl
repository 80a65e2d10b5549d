// Where the matrices of a batch begin, and how an element of the product is stored.
// Constants: BATCH_RANK, LONG. Params: batch (extent and both strides of each dim), a_first, b_first, m, n, m_end,
// n_end, k_end, zero. Functions: a_value, b_value (of an element), start (what the sum is added to), finish (what is stored),
// with_rest (a sum and what it has lost).

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

// A long sum comes in blocks, whose errors do not add up as those of a running sum do, and what is lost when blocks are
// added up is kept beside their sum. A compiler would take it for 0: params.zero, which is that, hides the sum from it.
const BLOCK = 32u;
fn block_end(k: u32) -> u32 {
  if (!LONG) { return params.k_end; }
  return k + min(params.k_end - k, BLOCK);
}
fn lost(a: vec4<T>, b: vec4<T>, sum: vec4<T>) -> vec4<T> {
  let hidden = bitcast<vec4<T>>(bitcast<vec4<u32>>(sum) ^ vec4<u32>(params.zero));
  let b_part = hidden - a;
  return (a - (hidden - b_part)) + (b - b_part);
}
