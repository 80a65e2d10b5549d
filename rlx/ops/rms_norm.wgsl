// Divides each row by the root of its mean square, one workgroup to a row. The dispatch brings
// scale(i). Includes: numbers, reduce.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup_index(ids);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;

  var squares = 0.0;
  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    let x = load_x(start + i);
    squares += x * x;
  }
  let inverse = 1.0 / sqrt(reduce_sum(lane, squares) / f32(params.row_length) + params.epsilon);

  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    store_y(start + i, load_x(start + i) * inverse * scale(i));
  }
}
