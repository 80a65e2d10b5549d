// One matrix for all rows.
fn expert_of(row: u32) -> Expert { return Expert(0u, true); }
