// Sorts each block of a row by (key, index); one workgroup per block. A lane sorts EACH elements by itself; runs are
// then merged two by two, from one half of the workgroup's memory to the other, EACH elements of a merged run to a lane.
// Of a run only the first `keep` matter. Constants: WORKGROUP, EACH, BLOCK (WORKGROUP * EACH; all powers of two).
// Includes: sort_key, sort_merge. Prelude: sort_key(v), put(row, place, key, index).

var<workgroup> block_keys: array<u32, 2u * BLOCK>;
var<workgroup> block_order: array<u32, 2u * BLOCK>;

fn element(at: u32) -> Entry {
  let inside = min(at, 2u * BLOCK - 1u);
  return Entry(block_keys[inside], block_order[inside]);
}

alias Own = array<u32, EACH>;

// Element e and the one behind it.
fn put_in_order(keys: ptr<function, Own>, order: ptr<function, Own>, e: u32) {
  let key = (*keys)[e];
  let index = (*order)[e];
  let next_key = (*keys)[e + 1u];
  let next_index = (*order)[e + 1u];
  let swap = next_key < key;
  (*keys)[e] = select(key, next_key, swap);
  (*order)[e] = select(index, next_index, swap);
  (*keys)[e + 1u] = select(next_key, key, swap);
  (*order)[e + 1u] = select(next_index, index, swap);
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let block = workgroup_index(ids);
  let row = block / params.blocks_per_row;
  let first = block % params.blocks_per_row * BLOCK;
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;
  // Folding may have added workgroups: they have nothing to sort, and meet the barriers all the same.
  let length = select(0u, min(params.row_length - first, BLOCK), block < params.block_count);
  var size = EACH;
  while (size < min(params.row_length, BLOCK)) { size *= 2u; }
  let lanes = size / EACH;

  if (lane < lanes) {
    var keys: Own;
    var order: Own;
    for (var e = 0u; e < EACH; e++) {
      let i = e * lanes + lane;
      keys[e] = 0xffffffffu;  // behind everything
      order[e] = 0xffffffffu;
      if (i < length) {
        keys[e] = sort_key(load_x(start + (first + i) * params.stride));
        order[e] = first + i;
      }
    }
    // Neighbours change places until none has to: equal ones stay in order. All indices are known to the compiler.
    for (var turn = 0u; turn < EACH; turn += 2u) {
      for (var e = 0u; e + 1u < EACH; e += 2u) { put_in_order(&keys, &order, e); }
      for (var e = 1u; e + 1u < EACH; e += 2u) { put_in_order(&keys, &order, e); }
    }
    for (var e = 0u; e < EACH; e++) {
      block_keys[lane * EACH + e] = keys[e];
      block_order[lane * EACH + e] = order[e];
    }
  }

  var source = 0u;
  for (var width = EACH; width < size; width *= 2u) {
    workgroupBarrier();
    let goal = BLOCK - source;
    let made = min(2u * width, params.keep);
    let parts = max((made + EACH - 1u) / EACH, 1u);
    let left = lane / parts * 2u * width;
    let skipped = lane % parts * EACH;
    if (left < size && skipped < made) {
      let have = min(width, params.keep);
      var heads = start_merge(source + left, have, source + left + width, have, skipped);
      for (var i = skipped; i < min(skipped + EACH, made); i++) {
        let next = next_merged(&heads);
        block_keys[goal + left + i] = next.key;
        block_order[goal + left + i] = next.index;
      }
    }
    source = goal;
  }
  workgroupBarrier();
  for (var i = lane; i < min(length, params.keep); i += WORKGROUP) {
    put(row, first + i, block_keys[source + i], block_order[source + i]);
  }
}
