// Moves each key behind those with a smaller digit, and those with its digit before it, from one half of the buffers to
// the other; one lane to a tile, which it goes through in order: equal keys stay as they were.
// Constants: BITS of a digit.

const DIGITS = 1u << BITS;

@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.row_count * params.tiles) { return; }
  let row = i / params.tiles;
  let tile = i % params.tiles;
  var places: array<u32, DIGITS>;
  for (var digit = 0u; digit < DIGITS; digit++) {
    places[digit] = load_places((row * DIGITS + digit) * params.tiles + tile);
  }
  let begin = tile * params.tile_length;
  let stop = min(begin + params.tile_length, params.row_length);
  let first = params.source + row * params.row_length;
  let goal = params.count - params.source + row * params.row_length;
  for (var k = begin; k < stop; k++) {
    let key = load_keys(first + k);
    let digit = (key >> params.shift) & (DIGITS - 1u);
    let place = goal + places[digit];
    places[digit]++;
    store_keys(place, key);
    store_order(place, load_order(first + k));
  }
}
