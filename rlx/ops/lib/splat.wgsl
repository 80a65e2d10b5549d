// A workgroup to a tile of TILE by TILE pixels. Gaussians that may reach it are taken in chunks of WORKGROUP: each lane
// looks whether one of them does, and all lanes then draw those that do, in their order. Includes: splat_all or
// splat_listed, which say who may.
// Params: count of Gaussians; width, height of the picture; across (tiles in a row), first_tile, tiles; cutoff,
// threshold, most_alpha.

struct Pixel {
  inside: bool,
  at: u32,            // its first channel
  place: vec2<f32>,   // its middle
  corner: vec2<f32>,  // of its tile
}

fn own_pixel(ids: Ids, lane: u32) -> Pixel {
  let tile = workgroup_index(ids) + params.first_tile;
  let left = tile % params.across * TILE;
  let top = tile / params.across * TILE;
  let x = left + lane % TILE;
  let y = top + lane / TILE;
  let inside = tile < params.tiles && x < params.width && y < params.height;
  return Pixel(inside, (y * params.width + x) * CHANNELS, vec2<f32>(f32(x) + 0.5, f32(y) + 0.5),
               vec2<f32>(f32(left), f32(top)));
}

const FIELDS = 17u;
const CHANNELS = 5u;

var<workgroup> reaching: array<atomic<u32>, 2>;
var<workgroup> lit: atomic<u32>;
var<workgroup> found: vec3<u32>;  // what the two hold, as all lanes agree on it
var<workgroup> range: vec3<u32>;

fn gaussian(n: u32, first: u32) -> vec3<f32> {
  let at = n * FIELDS + first;
  return vec3<f32>(load_gaussians(at), load_gaussians(at + 1u), load_gaussians(at + 2u));
}
fn bounds_of(n: u32) -> vec4<f32> {
  return vec4<f32>(load_bounds(4u * n), load_bounds(4u * n + 1u), load_bounds(4u * n + 2u), load_bounds(4u * n + 3u));
}
fn ray(i: u32) -> vec3<f32> { return vec3<f32>(load_rays(i), load_rays(i + 1u), load_rays(i + 2u)); }
fn ray_at(place: vec2<f32>) -> vec3<f32> { return ray(0u) + place.x * ray(3u) + place.y * ray(6u); }

struct Meeting {
  along: vec3<f32>,   // the ray in standard deviations
  moment: vec3<f32>,  // about the middle
  squares: f32,
  distance: f32,
  fall: f32,
  raw: f32,
  alpha: f32,  // 0: not seen
}

fn meet(n: u32, place: vec2<f32>, direction: vec3<f32>) -> Meeting {
  var met = Meeting();
  let box = bounds_of(n);
  if (!(place.x >= box.x && place.x <= box.z && place.y >= box.y && place.y <= box.w)) { return met; }
  met.along = vec3<f32>(dot(gaussian(n, 0u), direction), dot(gaussian(n, 3u), direction), dot(gaussian(n, 6u), direction));
  met.moment = cross(gaussian(n, 9u), met.along);
  met.squares = dot(met.along, met.along);
  met.distance = dot(met.moment, met.moment) / met.squares;
  met.fall = exp(-0.5 * met.distance);
  met.raw = load_gaussians(n * FIELDS + 12u) * met.fall;
  if (met.raw >= params.cutoff) { met.alpha = min(met.raw, params.most_alpha); }
  return met;
}

// The first candidate of the tile, the end of them, and whether they are listed.
fn candidates(corner: vec2<f32>, lane: u32) -> vec3<u32> {
  if (lane == 0u) { range = candidates_at(vec2<u32>(corner)); }
  return workgroupUniformLoad(&range);
}

// Which candidates of the chunk reach the tile, as bits, and how many lanes still want to know.
fn look(first: u32, among: vec3<u32>, corner: vec2<f32>, lane: u32, open: bool) -> vec3<u32> {
  if (lane < 2u) { atomicStore(&reaching[lane], 0u); }
  if (lane == 2u) { atomicStore(&lit, 0u); }
  workgroupBarrier();
  if (first + lane < among.y) {
    let box = bounds_of(candidate(first + lane, among.z));
    let far = corner + f32(TILE);
    if (box.x <= far.x && box.z >= corner.x && box.y <= far.y && box.w >= corner.y) {
      atomicOr(&reaching[lane / 32u], 1u << (lane % 32u));
    }
  }
  if (open) { atomicAdd(&lit, 1u); }
  workgroupBarrier();
  if (lane == 0u) { found = vec3<u32>(atomicLoad(&reaching[0]), atomicLoad(&reaching[1]), atomicLoad(&lit)); }
  return workgroupUniformLoad(&found);
}
