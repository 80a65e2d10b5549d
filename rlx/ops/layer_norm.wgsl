// Normalises each row. The dispatch brings scale(row, i) and shift(row, i).
// Includes: numbers, sums, rows or lane_rows.
// Loads: x 3.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = own_row(ids, lane);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;
  let length = f32(params.row_length);

  var total = Sum();
  for (var first = own_part(lane); first < params.row_length;) {
    let end = block_end(first, params.row_length, LANES);
    var block = 0.0;
    for (; first < end; first += LANES) { block += load_x(start + first); }
    add_block(&total, block);
  }
  let mean = reduce_sum(lane, total_of(total)) / length;

  // Far from 0 an f32 is no nearer to the mean than its last place, which may be much of the deviation: what is
  // missing is the mean of the differences.
  var rests = Sum();
  var squares = Sum();
  for (var first = own_part(lane); first < params.row_length;) {
    let end = block_end(first, params.row_length, LANES);
    var rest_block = 0.0;
    var block = 0.0;
    for (; first < end; first += LANES) {
      let centred = load_x(start + first) - mean;
      if (LONG) { rest_block += centred; }
      block += centred * centred;
    }
    if (LONG) { add_block(&rests, rest_block); }
    add_block(&squares, block);
  }
  var rest = 0.0;
  if (LONG) { rest = reduce_sum(lane, total_of(rests)) / length; }
  let variance = max_or_nan(reduce_sum(lane, total_of(squares)) / length - rest * rest, 0.0);
  let inverse = 1.0 / sqrt(variance + params.epsilon);

  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    store_y(start + i, (load_x(start + i) - mean - rest) * inverse * scale(row, i) + shift(row, i));
  }
}
