// Normalises each row, one workgroup to a row. The dispatch brings scale(i) and shift(i).
// Includes: numbers, reduce.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup_index(ids);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;

  var total = 0.0;
  for (var i = lane; i < params.row_length; i += WORKGROUP) { total += load_x(start + i); }
  let mean = reduce_sum(lane, total) / f32(params.row_length);

  var squares = 0.0;
  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    let centred = load_x(start + i) - mean;
    squares += centred * centred;
  }
  let variance = reduce_sum(lane, squares) / f32(params.row_length);
  let inverse = 1.0 / sqrt(variance + params.epsilon);

  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    store_y(start + i, (load_x(start + i) - mean) * inverse * scale(i) + shift(i));
  }
}
