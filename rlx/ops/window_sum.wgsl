// Sums the elements of a row around each; one result per invocation.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.count) { return; }
  let place = i / params.stride % params.row_length;
  let first = place - min(place, params.before);
  let last = place + min(params.row_length - 1u - place, params.after);
  var at = i - (place - first) * params.stride;
  var total = 0.0;
  for (var k = first; k <= last; k++) {
    total += load_x(at);
    at += params.stride;
  }
  store_y(i, total);
}
