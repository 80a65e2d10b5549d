// Four elements of a row of bytes from k on, a multiple of 4, with scales in a tensor of their own. Includes: blocks, and
// one that has less_zeros. Constants: SIGNED. Params: row_bytes, block, scales_row (from a row's scales to the next's).

fn scales4(row: u32, k: u32) -> vec4<f32> {
  let at = vec4<u32>(row * params.scales_row) + vec4<u32>(k, k + 1u, k + 2u, k + 3u) / params.block;
  if (params.block % 4u == 0u) { return vec4<f32>(load_scales(at.x)); }
  return vec4<f32>(load_scales(at.x), load_scales(at.y), load_scales(at.z), load_scales(at.w));
}
fn weights4(row: u32, k: u32) -> vec4<f32> {
  let word = word_at((row - params.w_first) * params.row_bytes + k);
  let steps = less_zeros(select(vec4<f32>(bytes_of(word)), signed_bytes_of(word), SIGNED), row, k);
  let v = steps * scales4(row, k);
  if (!RAGGED) { return v; }
  return select(vec4<f32>(), v, exists4(k));
}
