// Divides each row by the root of its mean square. The dispatch brings scale(row, i).
// Includes: numbers, rows or lane_rows.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = own_row(ids, lane);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;

  var squares = 0.0;
  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    let x = load_x(start + i);
    squares += x * x;
  }
  let inverse = 1.0 / sqrt(reduce_sum(lane, squares) / f32(params.row_length) + params.epsilon);

  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    store_y(start + i, load_x(start + i) * inverse * scale(row, i));
  }
}
