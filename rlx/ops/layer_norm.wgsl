// Normalises each row. The dispatch brings scale(row, i) and shift(row, i).
// Includes: numbers, rows or lane_rows.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = own_row(ids, lane);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;

  var total = 0.0;
  for (var i = own_part(lane); i < params.row_length; i += LANES) { total += load_x(start + i); }
  let mean = reduce_sum(lane, total) / f32(params.row_length);

  var squares = 0.0;
  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    let centred = load_x(start + i) - mean;
    squares += centred * centred;
  }
  let variance = reduce_sum(lane, squares) / f32(params.row_length);
  let inverse = 1.0 / sqrt(variance + params.epsilon);

  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    store_y(start + i, (load_x(start + i) - mean) * inverse * scale(row, i) + shift(row, i));
  }
}
