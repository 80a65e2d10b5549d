// The expert of a row; one that is out of range is flagged, and its row of y is 0.
fn expert_of(row: u32) -> Expert {
  let named = i32(load_expert(min(row, params.m_end - 1u)));
  let exists = named >= 0 && named < i32(params.experts);
  if (!exists) { raise_flag(FLAG_EXPERT, named); }
  return Expert(select(0u, u32(named), exists) * params.n, exists);
}
