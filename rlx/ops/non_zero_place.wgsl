// Stores where the elements of a chunk are that are not 0, behind those of the chunks before it; a lane to a chunk.
// Constants: CHUNK, RANK. Prelude: is_set(v).

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let chunk = workgroup_index(ids) * WORKGROUP + lane;
  if (chunk >= params.chunks) { return; }
  let stop = min((chunk + 1u) * CHUNK, params.count);
  var to = load_starts(chunk);
  for (var i = chunk * CHUNK; i < stop; i++) {
    if (!is_set(load_x(i))) { continue; }
    var rest = i;
    for (var d = RANK; d > 0u; d--) {
      let extent = params.shape[(d - 1u) / 4u][(d - 1u) % 4u];
      store_y((d - 1u) * params.kept + to, i32(rest % extent));
      rest /= extent;
    }
    to++;
  }
}
