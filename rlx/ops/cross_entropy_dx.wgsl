// scale * (softmax(row) - one_hot(label)). Includes: numbers, functions, reduce, class_rows.
// Constants: LOGITS.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = class_row(workgroup_index(ids), lane);
  var total = 0.0;
  if (LOGITS) { total = log_sum_exp(row, lane); }
  if (!row.exists) { return; }
  let scale = load_scale(row.row);
  let label = label_of(row);
  for (var i = row.part; i < params.row_length; i += LANES) {
    var share = 0.0;
    if (LOGITS) { share = exp_f32(load_x(at(row, i)) - total); }
    store_y(at(row, i), scale * (share - select(0.0, 1.0, i == label)));
  }
}
