// A tile looks at those that splat_lists.wgsl has listed for its bin, or at all where they did not fit.
// Constants: BIN. Params: bins, bins_across, capacity.

fn candidates_at(corner: vec2<u32>) -> vec3<u32> {
  if (corner.y >= params.height) { return vec3<u32>(); }
  let bin = corner.y / BIN * params.bins_across + corner.x / BIN;
  let end = load_list(bin);
  if (end > params.capacity) { return vec3<u32>(0u, params.count, 0u); }
  var first = 0u;
  if (bin > 0u) { first = load_list(bin - 1u); }
  return vec3<u32>(first, end, 1u);
}
fn candidate(i: u32, listed: u32) -> u32 {
  if (listed == 0u) { return i; }
  return load_list(params.bins + i);
}
