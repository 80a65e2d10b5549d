// The nearest points of each query, one invocation to a query: points pass by in tiles of workgroup memory, and what is
// nearer than the last of a query's list goes into it. Includes: numbers. Constants: PRODUCTS, SKIP_SELF.

const TILE = 16u;  // points
const DEPTH = 32u;  // dims

var<workgroup> tile: array<f32, TILE * DEPTH>;

// Into the list that starts at `first` and holds `held`.
fn insert(first: u32, held: u32, point: u32, distance: f32) {
  var at = min(held, params.k - 1u);
  while (at > 0u) {
    let before = load_list(first + at - 1u);
    if (before <= distance) { break; }
    store_list(first + at, before);
    store_places(first + at, load_places(first + at - 1u));
    at--;
  }
  store_list(first + at, distance);
  store_places(first + at, point);
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let query = workgroup_index(ids) * WORKGROUP + lane;
  let exists = query < params.query_count;
  let list = query * params.k;
  var held = 0u;
  var last = infinity();
  for (var first = 0u; first < params.point_count; first += TILE) {
    var sums: array<f32, TILE>;
    for (var t = 0u; t < TILE; t++) { sums[t] = 0.0; }
    for (var begin = 0u; begin < params.dims; begin += DEPTH) {
      workgroupBarrier();
      for (var i = lane; i < TILE * DEPTH; i += WORKGROUP) {
        let point = first + i / DEPTH;
        let dim = begin + i % DEPTH;
        tile[i] = 0.0;
        if (point < params.point_count && dim < params.dims) { tile[i] = load_points(point * params.dims + dim); }
      }
      workgroupBarrier();
      if (exists) {
        for (var d = 0u; d < min(DEPTH, params.dims - begin); d++) {
          let q = load_queries(query * params.dims + begin + d);
          for (var t = 0u; t < TILE; t++) {
            let p = tile[t * DEPTH + d];
            sums[t] += select((q - p) * (q - p), -q * p, PRODUCTS);
          }
        }
      }
    }
    if (exists) {
      for (var t = 0u; t < min(TILE, params.point_count - first); t++) {
        let distance = select(sums[t], infinity(), is_nan(sums[t]));
        let wanted = held < params.k || distance < last;
        if (wanted && !(SKIP_SELF && first + t == query)) {
          insert(list, held, first + t, distance);
          held = min(held + 1u, params.k);
          if (held == params.k) { last = load_list(list + params.k - 1u); }
        }
      }
    }
  }
  if (exists) {
    for (var i = 0u; i < params.k; i++) {
      store_distances(list + i, load_list(list + i));
      store_indices(list + i, i32(load_places(list + i)));
    }
  }
}
