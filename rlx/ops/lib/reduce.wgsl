// Reductions over the lanes of a workgroup; every lane gets the result.
// Constants: WORKGROUP (a power of two). Includes: numbers.

var<workgroup> scratch: array<f32, WORKGROUP>;

fn reduce_sum(lane: u32, value: f32) -> f32 {
  workgroupBarrier();  // the last reduction may still be read
  scratch[lane] = value;
  for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) { scratch[lane] += scratch[lane + width]; }
  }
  workgroupBarrier();
  return scratch[0];
}

fn reduce_max(lane: u32, value: f32) -> f32 {
  workgroupBarrier();
  scratch[lane] = value;
  for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (lane < width) { scratch[lane] = max_or_nan(scratch[lane], scratch[lane + width]); }
  }
  workgroupBarrier();
  return scratch[0];
}
