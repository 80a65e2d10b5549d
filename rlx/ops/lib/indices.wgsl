// An index of an axis: a negative one counts from the end, one out of range is moved inside and flagged.

fn index_within(index: i32, length: u32) -> u32 {
  let end = i32(length);
  let at = select(index, index + end, index < 0);
  if (at < 0 || at >= end) { raise_flag(FLAG_INDEX, index); }
  return u32(max(min(at, end - 1), 0));
}
