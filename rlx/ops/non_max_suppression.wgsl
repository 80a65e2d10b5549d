// Of a group, the boxes of a picture with the scores of a class, the best again and again, and whatever overlaps it
// too much is out. A workgroup to a group; a lane looks after its own boxes, so only the best is shared.
// Constants: CENTRED. Includes: numbers, fold. Prelude: overlap(), least().
// Params: groups, classes, boxes; most of a group to keep.

const LANES = WORKGROUP;
const NONE = 0xffffffffu;

struct T {
  key: i32,  // in the order of the scores
  index: u32,
}
fn combine(a: T, b: T) -> T {
  if (b.index == NONE) { return a; }
  if (a.index == NONE || b.key > a.key || (b.key == a.key && b.index < a.index)) { return b; }
  return a;
}

struct Box {
  low: vec2<f32>,
  high: vec2<f32>,
}
fn box_at(box: u32) -> Box {
  let a = vec2<f32>(load_boxes(box * 4u), load_boxes(box * 4u + 1u));
  let b = vec2<f32>(load_boxes(box * 4u + 2u), load_boxes(box * 4u + 3u));
  if (CENTRED) { return Box(a - b / 2.0, a + b / 2.0); }
  return Box(min(a, b), max(a, b));
}
fn area(box: Box) -> f32 { return (box.high.x - box.low.x) * (box.high.y - box.low.y); }
// The part of their union that both cover.
fn overlap_of(a: Box, b: Box) -> f32 {
  let size = min(a.high, b.high) - max(a.low, b.low);
  if (!(size.x > 0.0 && size.y > 0.0)) { return 0.0; }
  let both = size.x * size.y;
  return both / (area(a) + area(b) - both);
}

var<workgroup> best_of_all: u32;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let group = workgroup_index(ids);
  if (group > params.groups) { return; }
  if (group == params.groups) {  // behind the last
    if (lane == 0u) { store_counts(group, 0u); }
    return;
  }
  let first_box = group / params.classes * params.boxes;
  let first = group * params.boxes;
  for (var i = lane; i < params.boxes; i += WORKGROUP) {
    let score = load_scores(first + i);
    let counts = !is_nan(score) && order(score) > order(least());
    store_alive(first + i, select(0u, 1u, counts));
  }
  let allowed = overlap();
  var kept = 0u;
  for (; kept < params.most; kept++) {
    var best = T(0, NONE);
    for (var i = lane; i < params.boxes; i += WORKGROUP) {
      if (load_alive(first + i) != 0u) { best = combine(best, T(order(load_scores(first + i)), i)); }
    }
    best = fold_lanes(lane, best);
    if (lane == 0u) { best_of_all = best.index; }
    let chosen = workgroupUniformLoad(&best_of_all);
    if (chosen == NONE) { break; }
    if (lane == 0u) { store_kept(group * params.most + kept, chosen); }
    let box = box_at(first_box + chosen);
    for (var i = lane; i < params.boxes; i += WORKGROUP) {
      if (load_alive(first + i) == 0u) { continue; }
      if (i == chosen || overlap_of(box_at(first_box + i), box) > allowed) { store_alive(first + i, 0u); }
    }
  }
  if (lane == 0u) { store_counts(group, kept); }
}
