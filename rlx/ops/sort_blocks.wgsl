// Sorts each block of a row by (key, index); one workgroup per block, bitonic in workgroup memory.
// Constants: WORKGROUP, BLOCK (a power of two). Includes: sort_key. Prelude: sort_key(v).

var<workgroup> block_keys: array<u32, BLOCK>;
var<workgroup> block_order: array<u32, BLOCK>;

// Indices differ, so there are no ties: the sort is stable.
fn is_before(a: u32, b: u32) -> bool {
  return block_keys[a] < block_keys[b] || (block_keys[a] == block_keys[b] && block_order[a] < block_order[b]);
}

fn swap(a: u32, b: u32) {
  let key = block_keys[a];
  let index = block_order[a];
  block_keys[a] = block_keys[b];
  block_order[a] = block_order[b];
  block_keys[b] = key;
  block_order[b] = index;
}

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let block = workgroup_index(ids);
  let row = block / params.blocks_per_row;
  let first = block % params.blocks_per_row * BLOCK;
  let start = row / params.stride * params.stride * params.row_length + row % params.stride;
  // Folding may have added workgroups: they have nothing to sort, and meet the barriers all the same.
  let length = select(0u, min(params.row_length - first, BLOCK), block < params.block_count);
  var size = 1u;
  while (size < min(params.row_length, BLOCK)) { size *= 2u; }

  for (var i = lane; i < size; i += WORKGROUP) {
    var key = 0xffffffffu;  // behind everything
    var index = 0xffffffffu;
    if (i < length) {
      key = sort_key(load_x(start + (first + i) * params.stride));
      index = first + i;
    }
    block_keys[i] = key;
    block_order[i] = index;
  }
  for (var run = 2u; run <= size; run *= 2u) {
    for (var gap = run / 2u; gap > 0u; gap /= 2u) {
      workgroupBarrier();
      for (var pair = lane; pair < size / 2u; pair += WORKGROUP) {
        let low = 2u * pair - pair % gap;
        let ascending = (low & run) == 0u;
        if (is_before(low + gap, low) == ascending) { swap(low, low + gap); }
      }
    }
  }
  workgroupBarrier();
  for (var i = lane; i < min(length, params.keep); i += WORKGROUP) {
    let at = row * params.row_length + first + i;
    store_keys(at, block_keys[i]);
    store_order(at, block_order[i]);
  }
}
