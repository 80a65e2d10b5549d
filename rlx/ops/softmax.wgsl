// softmax of each row; one workgroup per row.
// Includes: numbers, functions, reduce.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup_index(ids);
  if (row >= params.row_count) { return; }
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;

  var highest = -infinity();
  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    highest = max_or_nan(highest, load_x(start + i * params.stride));
  }
  highest = reduce_max(lane, highest);

  var total = 0.0;
  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    total += exp_f32(load_x(start + i * params.stride) - highest);
  }
  total = reduce_sum(lane, total);

  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    let at = start + i * params.stride;
    store_y(at, exp_f32(load_x(at) - highest) / total);
  }
}
