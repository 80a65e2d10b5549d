// Four elements of a row of bytes from k on, a multiple of 4, with scales in a tensor of their own. Includes: blocks.
// Params: row_bytes, block, blocks (of a row).

fn scales4(row: u32, k: u32) -> vec4<f32> {
  let at = vec4<u32>(row * params.blocks) + vec4<u32>(k, k + 1u, k + 2u, k + 3u) / params.block;
  if (params.block % 4u == 0u) { return vec4<f32>(load_scales(at.x)); }
  return vec4<f32>(load_scales(at.x), load_scales(at.y), load_scales(at.z), load_scales(at.w));
}
fn weights4(row: u32, k: u32) -> vec4<f32> {
  let v = signed_bytes_of(word_at((row - params.w_first) * params.row_bytes + k)) * scales4(row, k);
  if (!RAGGED) { return v; }
  return select(vec4<f32>(), v, exists4(k));
}
