// How many elements of each chunk are not 0, and 0 behind the last chunk; a lane to a chunk.
// Constants: CHUNK. Prelude: is_set(v).

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let chunk = workgroup_index(ids) * WORKGROUP + lane;
  if (chunk > params.chunks) { return; }
  let stop = min((chunk + 1u) * CHUNK, params.count);
  var found = 0u;
  for (var i = chunk * CHUNK; i < stop; i++) { found += select(0u, 1u, is_set(load_x(i))); }
  store_counts(chunk, found);
}
