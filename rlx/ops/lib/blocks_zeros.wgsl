// Four bytes of a row from k on, less their zero points. Params: block, zeros_row (from a row's zero points to the next's).

fn zero_at(row: u32, k: u32) -> f32 { return f32(load_zeros(row * params.zeros_row + k / params.block)); }
fn less_zeros(steps: vec4<f32>, row: u32, k: u32) -> vec4<f32> {
  if (params.block % 4u == 0u) { return steps - zero_at(row, k); }
  return steps - vec4<f32>(zero_at(row, k), zero_at(row, k + 1u), zero_at(row, k + 2u), zero_at(row, k + 3u));
}
