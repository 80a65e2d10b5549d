// Four elements of a row of w from k on, which is a multiple of 4. Includes: blocks, and decode4 of a format: four
// elements from i on of the block at a byte. Constants: ELEMENTS and BYTES of a block. Params: row_bytes.

fn weights4(row: u32, k: u32) -> vec4<f32> {
  let at = (row - params.w_first) * params.row_bytes + k / ELEMENTS * BYTES;
  let v = decode4(at, k % ELEMENTS);
  if (!RAGGED) { return v; }
  return select(vec4<f32>(), v, exists4(k));
}
