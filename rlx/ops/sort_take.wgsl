// The first `keep` elements of each sorted row and where they were; one per invocation.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let k = workgroup_index(ids) * WORKGROUP + lane;
  if (k >= params.count) { return; }
  let row = k / params.keep;
  let place = k % params.keep;
  let to = row / params.stride * params.stride * params.keep + row % params.stride + place * params.stride;
  let index = load_order(params.half + row * params.row_length + place);
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;
  store_values(to, load_x(start + index * params.stride));
  store_indices(to, i32(index));
}
