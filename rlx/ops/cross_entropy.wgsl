// log_sum_exp(row) - row[label], or -row[label]. Includes: numbers, functions, reduce, class_rows.
// Constants: LOGITS.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = class_row(workgroup_index(ids), lane);
  var total = 0.0;
  if (LOGITS) { total = log_sum_exp(row, lane); }
  if (row.exists && row.part == 0u) { store_y(row.row, total - load_x(at(row, label_of(row)))); }
}
