// Sums of many terms, by blocks of blocks: a running sum loses as many last places as it has terms, this one as many as
// their number has digits. Terms come by BLOCK from each lane, or all at once where a row is short: LONG.

const BLOCK = 32u;

struct Sum {
  near: f32,     // of less than BLOCK blocks
  far: f32,      // of less than BLOCK times as many
  farther: f32,  // of the rest
  blocks: u32,
}

fn add_block(sum: ptr<function, Sum>, block: f32) {
  (*sum).near += block;
  (*sum).blocks += 1u;
  if ((*sum).blocks % BLOCK == 0u) {
    (*sum).far += (*sum).near;
    (*sum).near = 0.0;
  }
  if ((*sum).blocks % (BLOCK * BLOCK) == 0u) {
    (*sum).farther += (*sum).far;
    (*sum).far = 0.0;
  }
}

fn total_of(sum: Sum) -> f32 { return sum.farther + (sum.far + sum.near); }

// Where the block of a lane ends that begins at `first`, of `length` terms in all, each `lanes` behind the other.
fn block_end(first: u32, length: u32, lanes: u32) -> u32 {
  if (!LONG) { return length; }
  return first + min(length - first, BLOCK * lanes);
}
