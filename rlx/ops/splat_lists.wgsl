// Which Gaussians reach each bin of BIN by BIN pixels, in their order. A lane has a slab of Gaussians and a row of
// bins, so a cell of the table (bin, slab) is its alone: first it counts, then it puts them where the sums of the
// counts say, as far as the list reaches. Constants: BIN. Includes: numbers. Prelude: add(cell, n), finish(bin, cell).
// Params: count of Gaussians; slabs, slab_length; bins, bins_across, bins_down; capacity of the list.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.slabs * params.bins_down) { return; }
  let slab = i % params.slabs;
  let row = i / params.slabs;
  let first_bin = row * params.bins_across;
  let most = vec4<f32>(f32(params.bins_across), f32(params.bins_down), f32(params.bins_across), f32(params.bins_down));
  let begin = slab * params.slab_length;
  for (var n = begin; n < min(begin + params.slab_length, params.count); n++) {
    let box = vec4<f32>(load_bounds(4u * n), load_bounds(4u * n + 1u), load_bounds(4u * n + 2u), load_bounds(4u * n + 3u));
    // By bits: both passes have to find the same, and a pixel sees none of these.
    if (is_nan(box.x) || is_nan(box.y) || is_nan(box.z) || is_nan(box.w)) { continue; }
    if (box.x > box.z || box.y > box.w || box.z < 0.0 || box.w < 0.0) { continue; }
    let reach = vec4<u32>(clamp(box / f32(BIN), vec4<f32>(), most));
    if (reach.y > row || reach.w < row) { continue; }
    for (var column = reach.x; column < min(reach.z + 1u, params.bins_across); column++) {
      add((first_bin + column) * params.slabs + slab, n);
    }
  }
  if (slab + 1u != params.slabs) { return; }
  for (var column = 0u; column < params.bins_across; column++) {
    finish(first_bin + column, (first_bin + column) * params.slabs + slab);
  }
}
