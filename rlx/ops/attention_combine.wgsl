// Puts the parts of a query's keys together; one invocation per element of the result.
// Constants: EMPTY_ROW_IS_NAN. Includes: numbers, functions, attention_exp.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.rows * params.value_size) { return; }
  let element = i % params.value_size;
  let row = i / params.value_size;
  let first = row * params.splits;
  var highest = -infinity();
  for (var split = 0u; split < params.splits; split++) {
    highest = max_or_nan(highest, load_totals(2u * (first + split)));
  }
  let shift = select(highest, 0.0, is_lowest(highest));
  var total = 0.0;
  var sum = vec4<f32>();
  for (var split = 0u; split < params.splits; split++) {
    let share = exp_below(load_totals(2u * (first + split)) - shift);
    total += share * load_totals(2u * (first + split) + 1u);
    sum += weighted(share, vec4<f32>(load_sums((first + split) * params.value_size + element)));
  }
  let query = row % params.queries;
  let head = row / params.queries % params.heads;
  let batch = row / params.queries / params.heads;
  let at = batch * params.y_strides[0].x + head * params.y_strides[0].y + query * params.y_strides[0].z;
  store_y(at + element, divided(sum, total, highest).x);
}
