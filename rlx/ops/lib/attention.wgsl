// What the kernels of attention share: which keys a query sees, and how a dot product becomes a score.
// Constants: CAUSAL, WINDOWED. Params: queries, keys, window, size, scale, softcap. Functions: biased.
// Includes: numbers, functions, attention_exp.

// Query i of the last S_q positions sees keys before this one.
fn key_end(query: u32) -> u32 {
  if (!CAUSAL) { return params.keys; }
  let end = query + params.keys + 1u;
  return select(0u, min(end - params.queries, params.keys), end > params.queries);
}

// And none before this one: a window looks back from the query's own position.
fn key_begin(query: u32) -> u32 {
  let position = query + params.keys;
  let before = params.queries + params.window;
  return select(0u, position - before, WINDOWED && position > before);
}

fn score(product: f32, bias_at: u32, mask_at: u32) -> f32 {
  var s = product * select(params.scale, 1.0 / sqrt(f32(params.size)), params.scale == 0.0);
  if (params.softcap > 0.0) { s = params.softcap * tanh_f32(s / params.softcap); }
  return biased(s, bias_at, mask_at);
}
