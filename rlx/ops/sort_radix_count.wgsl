// How often each digit occurs in a tile of keys; one lane to a tile, which it goes through in order.
// Constants: BITS of a digit.

const DIGITS = 1u << BITS;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.row_count * params.tiles) { return; }
  let row = i / params.tiles;
  let tile = i % params.tiles;
  var counts: array<u32, DIGITS>;
  let begin = tile * params.tile_length;
  let stop = min(begin + params.tile_length, params.row_length);
  let first = params.source + row * params.row_length;
  for (var k = begin; k < stop; k++) { counts[(load_keys(first + k) >> params.shift) & (DIGITS - 1u)]++; }
  for (var digit = 0u; digit < DIGITS; digit++) {
    store_counts((row * DIGITS + digit) * params.tiles + tile, counts[digit]);
  }
}
