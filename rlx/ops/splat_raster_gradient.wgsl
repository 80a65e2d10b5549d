// What dy makes of the numbers of each Gaussian. The pixels of a tile draw again what they drew, from the front;
// what is still to come is what the whole picture has less what was drawn. The lanes' shares of a Gaussian are
// put side by side, and one lane for each number adds them up.
// Constants: TILE, IN_ORDER. Includes: splat. Prelude: add_to_sums(at, v), add_to_ray_sums.

var<workgroup> shares: array<f32, WORKGROUP * 17>;

fn put(lane: u32, first: u32, v: vec3<f32>) {
  shares[lane * FIELDS + first] = v.x;
  shares[lane * FIELDS + first + 1u] = v.y;
  shares[lane * FIELDS + first + 2u] = v.z;
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let pixel = own_pixel(ids, lane);
  let place = pixel.place;
  let direction = ray_at(place);
  var light = 1.0;
  var d_colour = vec3<f32>();
  var d_covered = 0.0;
  var d_depth = 0.0;
  var d_ray = vec3<f32>();
  var behind = 0.0;  // what all that is not drawn yet adds, times dy
  if (pixel.inside) {
    let at = pixel.at;
    d_colour = vec3<f32>(load_dy(at), load_dy(at + 1u), load_dy(at + 2u));
    d_covered = load_dy(at + 3u);
    d_depth = load_dy(at + 4u);
    behind = dot(d_colour, vec3<f32>(load_y(at), load_y(at + 1u), load_y(at + 2u))) +
             d_covered * load_y(at + 3u) + d_depth * load_y(at + 4u);
  }
  let among = candidates(pixel.corner, lane);
  for (var first = among.x; first < among.y; first += WORKGROUP) {
    let seen = look(first, among, pixel.corner, lane, pixel.inside && light >= params.threshold);
    if (seen.z == 0u) { break; }
    for (var word = 0u; word < 2u; word++) {
      var bits = select(seen.x, seen.y, word == 1u);
      while (bits != 0u) {
        let n = candidate(first + word * 32u + firstTrailingBit(bits), among.z);
        bits &= bits - 1u;
        for (var i = 0u; i < FIELDS; i++) { shares[lane * FIELDS + i] = 0.0; }
        if (pixel.inside && light >= params.threshold) {
          let met = meet(n, place, direction);
          if (met.alpha > 0.0) {
            let weight = light * met.alpha;
            let own = dot(gaussian(n, 13u), d_colour) + d_covered + load_gaussians(n * FIELDS + 16u) * d_depth;
            put(lane, 13u, weight * d_colour);
            shares[lane * FIELDS + 16u] = weight * d_depth;
            behind -= weight * own;
            let d_alpha = light * own - behind / (1.0 - met.alpha);
            light *= 1.0 - met.alpha;
            if (met.raw <= params.most_alpha) {
              shares[lane * FIELDS + 12u] = d_alpha * met.fall;
              let d_distance = -0.5 * d_alpha * met.raw;
              let d_squares = -d_distance * met.distance / met.squares;
              let d_moment = 2.0 * d_distance / met.squares * met.moment;
              put(lane, 9u, cross(met.along, d_moment));
              let d_along = cross(d_moment, gaussian(n, 9u)) + 2.0 * d_squares * met.along;
              put(lane, 0u, d_along.x * direction);
              put(lane, 3u, d_along.y * direction);
              put(lane, 6u, d_along.z * direction);
              d_ray += d_along.x * gaussian(n, 0u) + d_along.y * gaussian(n, 3u) + d_along.z * gaussian(n, 6u);
            }
          }
        }
        workgroupBarrier();
        if (lane < FIELDS) {
          var total = 0.0;
          for (var i = 0u; i < WORKGROUP; i++) { total += shares[i * FIELDS + lane]; }
          if (total != 0.0) { add_to_sums(n * FIELDS + lane, total); }
        }
        workgroupBarrier();
      }
    }
  }
  put(lane, 0u, d_ray);
  put(lane, 3u, d_ray * place.x);
  put(lane, 6u, d_ray * place.y);
  workgroupBarrier();
  if (lane < 9u) {
    var total = 0.0;
    for (var i = 0u; i < WORKGROUP; i++) { total += shares[i * FIELDS + lane]; }
    if (total != 0.0) { add_to_ray_sums(lane, total); }
  }
}
