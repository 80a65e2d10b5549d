// A workgroup to a row. Includes: reduce. With lane_rows.wgsl in its place a kernel takes a lane to a
// row: it is written once, against own_row, own_part, LANES, reduce_sum and reduce_max. Params: first_row, row_count,
// behind the last.

const LANES = WORKGROUP;
fn own_row(ids: Ids, lane: u32) -> u32 { return params.first_row + workgroup_index(ids); }
fn own_part(lane: u32) -> u32 { return lane; }
