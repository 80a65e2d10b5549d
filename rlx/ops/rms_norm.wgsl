// Divides each row by the root of its mean square. The dispatch brings scale(row, i).
// Includes: numbers, sums, rows or lane_rows.
// Loads: x 2.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = own_row(ids, lane);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;

  var squares = Sum();
  for (var first = own_part(lane); first < params.row_length;) {
    let end = block_end(first, params.row_length, LANES);
    var block = 0.0;
    for (; first < end; first += LANES) {
      let x = load_x(start + first);
      block += x * x;
    }
    add_block(&squares, block);
  }
  let inverse = 1.0 / sqrt(reduce_sum(lane, total_of(squares)) / f32(params.row_length) + params.epsilon);

  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    store_y(start + i, load_x(start + i) * inverse * scale(row, i));
  }
}
