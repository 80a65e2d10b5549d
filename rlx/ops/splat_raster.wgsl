// Pixels of y blend the Gaussians in their order. Constants: TILE. Includes: splat.

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let pixel = own_pixel(ids, lane);
  let place = pixel.place;
  let direction = ray_at(place);
  var light = 1.0;
  var colour = vec3<f32>();
  var depth = 0.0;
  var covered = 0.0;
  let among = candidates(pixel.corner, lane);
  for (var first = among.x; first < among.y; first += WORKGROUP) {
    let seen = look(first, among, pixel.corner, lane, pixel.inside && light >= params.threshold);
    if (seen.z == 0u) { break; }
    for (var word = 0u; word < 2u; word++) {
      var bits = select(seen.x, seen.y, word == 1u);
      while (bits != 0u && light >= params.threshold) {
        let bit = firstTrailingBit(bits);
        bits &= bits - 1u;
        let n = candidate(first + word * 32u + bit, among.z);
        let met = meet(n, place, direction);
        let weight = light * met.alpha;
        if (met.alpha > 0.0) {
          colour += weight * gaussian(n, 13u);
          depth += weight * load_gaussians(n * FIELDS + 16u);
          covered += weight;
          light *= 1.0 - met.alpha;
        }
      }
    }
  }
  if (!pixel.inside) { return; }
  let behind = vec3<f32>(load_background(0u), load_background(1u), load_background(2u));
  colour += light * behind;
  let at = pixel.at;
  store_y(at, colour.x);
  store_y(at + 1u, colour.y);
  store_y(at + 2u, colour.z);
  store_y(at + 3u, covered);
  store_y(at + 4u, depth);
}
