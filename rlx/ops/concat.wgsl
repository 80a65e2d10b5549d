// Some neighbouring parts of a concatenation; one element per invocation.
// Here the parts together are [outer, length, inner], the result is [outer, total, inner].
// Constants: PARTS. Prelude: load_part(part, i).
// Loads: x* 1.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let k = params.first + workgroup_index(ids) * WORKGROUP + lane;
  if (k >= params.end) { return; }
  let inner = k % params.inner;
  let at = k / params.inner % params.length;
  let outer = k / params.inner / params.length;

  var part = 0u;
  while (part + 1u < PARTS && at >= start_of(part + 1u)) { part++; }
  let part_length = start_of(part + 1u) - start_of(part);
  let value = load_part(part, (outer * part_length + at - start_of(part)) * params.inner + inner);
  store_y((outer * params.total + params.offset + at) * params.inner + inner, value);
}

fn start_of(part: u32) -> u32 { return params.starts[part / 4u][part % 4u]; }
