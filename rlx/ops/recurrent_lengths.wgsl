// The lengths of sequences as the steps of a recurrent net take them: one that is out of range is moved
// inside and flagged. Params: batches, steps.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let b = workgroup_index(ids) * WORKGROUP + lane;
  if (b >= params.batches) { return; }
  let length = i32(load_lengths(b));
  if (length < 0 || length > i32(params.steps)) { raise_flag(FLAG_LENGTH, length); }
  store_y(b, clamp(length, 0, i32(params.steps)));
}
