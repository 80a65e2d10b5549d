// A lane to a row: lanes do not wait for each other, which a CPU pays dearly for. See rows.wgsl.

const LANES = 1u;
fn own_row(ids: Ids, lane: u32) -> u32 { return params.first_row + workgroup_index(ids) * WORKGROUP + lane; }
fn own_part(lane: u32) -> u32 { return 0u; }
fn reduce_sum(lane: u32, value: f32) -> f32 { return value; }
fn reduce_max(lane: u32, value: f32) -> f32 { return value; }
