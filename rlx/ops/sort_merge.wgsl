// Merges neighbouring runs of each row, from one half of the buffers to the other; EACH elements of the merged run to
// an invocation. Constants: EACH, BLOCK; FEW: fewer are kept than a block has. Of each run only the first `keep`
// matter. Includes: sort_merge.

struct Part {
  row: u32,
  pair: u32,  // of runs
  first: u32,  // element of the merged run
}

// What invocation i makes; of few that are kept, there is nothing else.
fn part_of(i: u32, width: u32) -> Part {
  if (!FEW) {
    let parts = (params.row_length + EACH - 1u) / EACH;
    let first = i % parts * EACH;
    return Part(i / parts, first / (2u * width), first % (2u * width));
  }
  let parts = (params.keep + EACH - 1u) / EACH;
  let pairs = (params.row_length + 2u * width - 1u) / (2u * width);
  return Part(i / parts / pairs, i / parts % pairs, i % parts * EACH);
}

fn element(at: u32) -> Entry {
  let inside = min(at, 2u * params.count - 1u);
  return Entry(load_keys(inside), load_order(inside));
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let width = BLOCK << params.level;
  let part = part_of(workgroup_index(ids) * WORKGROUP + lane, width);
  if (part.row >= params.row_count) { return; }
  let place = part.pair * 2u * width;
  let left_count = min(min(width, params.row_length - place), params.keep);
  var right_count = 0u;
  if (place + width < params.row_length) {
    right_count = min(min(width, params.row_length - place - width), params.keep);
  }
  let made = min(left_count + right_count, params.keep);
  if (part.first >= made) { return; }
  let source = params.level % 2u * params.count;
  let row_start = part.row * params.row_length + place;
  let left = source + row_start;
  var heads = start_merge(left, left_count, left + width, right_count, part.first);
  let to = params.count - source + row_start;
  for (var i = part.first; i < min(part.first + EACH, made); i++) {
    let next = next_merged(&heads);
    store_keys(to + i, next.key);
    store_order(to + i, next.index);
  }
}
