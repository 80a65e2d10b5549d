// Draws a class from each row; one workgroup per row. What is kept of a row is known by a threshold,
// found digit by digit from the top: in each pass the lanes add up their elements by the next four bits
// of the key. The dispatch brings key(). Includes: numbers, functions, reduce, philox.

const DIGITS = 16u;

var<workgroup> bins: array<f32, DIGITS * WORKGROUP>;
var<workgroup> totals: array<f32, DIGITS>;
var<workgroup> ties: array<u32, WORKGROUP>;

// Keys order as the logits do; NaN is below all.
fn key_of(x: f32) -> u32 { return select(bitcast<u32>(order(x)) + 0x80000000u, 0u, is_nan(x)); }
fn logit_of(key: u32) -> f32 {
  let ordered = bitcast<i32>(key - 0x80000000u);
  return bitcast<f32>(select(bitcast<u32>(ordered), bitcast<u32>(-ordered) | 0x80000000u, ordered < 0));
}
// The likelihood, 1 for the likeliest.
fn weight_of(key: u32, highest: f32) -> f32 {
  if (key == 0u) { return 0.0; }
  if (key == key_of(highest)) { return 1.0; }
  return exp_f32((logit_of(key) - highest) * params.sharpness);
}

struct Threshold {
  key: u32,
  above: f32,  // what the elements with larger keys add up to
}

// The largest key such that the elements from it up add up to `target`, each by its likelihood, or each 1.
fn find_threshold(start: u32, lane: u32, highest: f32, counts: bool, target_sum: f32) -> Threshold {
  var found = Threshold(0u, 0.0);
  for (var level = 0u; level < 8u; level++) {
    let shift = 28u - 4u * level;
    var own = array<f32, DIGITS>();
    for (var i = lane; i < params.row_length; i += WORKGROUP) {
      let key = key_of(load_x(start + i));
      if (level == 0u || (key >> ((shift + 4u) & 31u)) == found.key) {
        own[(key >> shift) & 15u] += select(weight_of(key, highest), 1.0, counts);
      }
    }
    workgroupBarrier();  // the last level may still be read
    for (var d = 0u; d < DIGITS; d++) { bins[d * WORKGROUP + lane] = own[d]; }
    workgroupBarrier();
    if (lane < DIGITS) {
      var total = 0.0;
      for (var other = 0u; other < WORKGROUP; other++) { total += bins[lane * WORKGROUP + other]; }
      totals[lane] = total;
    }
    workgroupBarrier();
    var digit = 0u;
    var sum = found.above;
    for (var d = DIGITS; d > 0u; d--) {
      let total = totals[d - 1u];
      if (total == 0.0) { continue; }
      digit = d - 1u;
      found.above = sum;
      sum += total;
      if (sum >= target_sum) { break; }
    }
    found.key = (found.key << 4u) | digit;
  }
  return found;
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let row = workgroup_index(ids);
  if (row >= params.row_count) { return; }
  let start = row * params.row_length;

  var highest = -infinity();
  for (var i = lane; i < params.row_length; i += WORKGROUP) {
    let x = load_x(start + i);
    if (key_of(x) > key_of(highest)) { highest = x; }
  }
  highest = reduce_max(lane, highest);

  // Kept is what is above the threshold, and the first `quota` elements at it.
  var threshold = 0u;
  var quota = params.row_length;
  if (params.top_k < params.row_length) {
    let found = find_threshold(start, lane, highest, true, f32(params.top_k));
    threshold = found.key;
    quota = params.top_k - u32(found.above);
  }
  if (params.top_p < 1.0) {
    var mass = 0.0;
    for (var i = lane; i < params.row_length; i += WORKGROUP) {
      let key = key_of(load_x(start + i));
      mass += select(0.0, weight_of(key, highest), key > threshold);
    }
    mass = reduce_sum(lane, mass) + f32(quota) * weight_of(threshold, highest);
    let found = find_threshold(start, lane, highest, false, params.top_p * mass);
    let missing = (params.top_p * mass - found.above) / weight_of(found.key, highest);
    let needed = u32(clamp(ceil(missing), 1.0, f32(params.row_length)));
    if (found.key > threshold) {
      threshold = found.key;
      quota = needed;
    } else if (found.key == threshold) {
      quota = min(quota, needed);
    }
  }

  // Each lane has a run of neighbours, so that sums can be in the order of indices.
  let run = (params.row_length + WORKGROUP - 1u) / WORKGROUP;
  let first = min(lane * run, params.row_length);
  let end = min(first + run, params.row_length);
  var own_ties = 0u;
  for (var i = first; i < end; i++) { own_ties += select(0u, 1u, key_of(load_x(start + i)) == threshold); }
  ties[lane] = own_ties;
  workgroupBarrier();
  var ties_before = 0u;
  for (var other = 0u; other < lane; other++) { ties_before += ties[other]; }

  var own_mass = 0.0;
  var rank = ties_before;
  for (var i = first; i < end; i++) {
    let key = key_of(load_x(start + i));
    own_mass += kept_weight(key, threshold, rank, quota, highest);
    rank += select(0u, 1u, key == threshold);
  }
  workgroupBarrier();
  bins[lane] = own_mass;
  workgroupBarrier();
  var before = 0.0;
  var total = 0.0;
  for (var other = 0u; other < WORKGROUP; other++) {
    if (other == lane) { before = total; }
    total += bins[other];
  }
  if (lane == 0u && !(total > 0.0)) { store_y(row, 0); }

  let goal = unit_uniform(philox(vec4<u32>(row, u32(load_step(0u)), 0u, 0u), key()).x) * total;
  if (!(before <= goal && goal < before + own_mass)) { return; }
  var sum = before;
  var drawn = first;
  rank = ties_before;
  for (var i = first; i < end && sum <= goal; i++) {
    let key = key_of(load_x(start + i));
    let weight = kept_weight(key, threshold, rank, quota, highest);
    rank += select(0u, 1u, key == threshold);
    if (weight > 0.0) { drawn = i; }
    sum += weight;
  }
  store_y(row, i32(drawn));
}

fn kept_weight(key: u32, threshold: u32, rank: u32, quota: u32, highest: f32) -> f32 {
  if (key < threshold || (key == threshold && rank >= quota)) { return 0.0; }
  let weight = weight_of(key, highest);
  return select(0.0, weight, weight >= params.min_p);
}
