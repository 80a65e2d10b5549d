// softmax and log_softmax of each row. The dispatch brings weight(total), of the sum of exponentials,
// and finish(shifted, weight). Includes: numbers, functions, sums, rows or
// lane_rows.
// Loads: x 3.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = own_row(ids, lane);
  if (row >= params.row_count) { return; }
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;

  var highest = -infinity();
  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    highest = max_or_nan(highest, load_x(start + i * params.stride));
  }
  highest = reduce_max(lane, highest);

  var total = Sum();
  for (var first = own_part(lane); first < params.row_length;) {
    let end = block_end(first, params.row_length, LANES);
    var block = 0.0;
    for (; first < end; first += LANES) { block += exp_f32(load_x(start + first * params.stride) - highest); }
    add_block(&total, block);
  }
  let own_weight = weight(reduce_sum(lane, total_of(total)));

  for (var i = own_part(lane); i < params.row_length; i += LANES) {
    let at = start + i * params.stride;
    store_y(at, finish(load_x(at) - highest, own_weight));
  }
}
