// Rows of classes, each with a label: LANES lanes to a row, one or a whole workgroup.
// Constants: WORKGROUP, LANES. Includes: numbers, functions, reduce.

struct ClassRow {
  row: u32,  // the last one again where there are no more: barriers are for all lanes
  start: u32,
  part: u32,  // of the row that this lane takes: part, part + LANES, ...
  exists: bool,
}

fn class_row(group: u32, lane: u32) -> ClassRow {
  let index = group * (WORKGROUP / LANES) + lane / LANES;
  let row = min(index, params.row_count - 1u);
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;
  return ClassRow(row, start, lane % LANES, index < params.row_count);
}

fn at(row: ClassRow, i: u32) -> u32 { return row.start + i * params.stride; }

fn label_of(row: ClassRow) -> u32 {
  let label = i32(load_labels(row.row));
  if (label < 0 || label >= i32(params.row_length)) { raise_flag(FLAG_LABEL, label); }
  return u32(clamp(label, 0, i32(params.row_length) - 1));
}

// The logarithm of the sum of exp(x) over the row.
fn log_sum_exp(row: ClassRow, lane: u32) -> f32 {
  var highest = -infinity();
  for (var i = row.part; i < params.row_length; i += LANES) { highest = max_or_nan(highest, load_x(at(row, i))); }
  if (LANES > 1u) { highest = reduce_max(lane, highest); }
  var total = 0.0;
  for (var i = row.part; i < params.row_length; i += LANES) { total += exp_f32(load_x(at(row, i)) - highest); }
  if (LANES > 1u) { total = reduce_sum(lane, total); }
  return highest + log_f32(total);
}
