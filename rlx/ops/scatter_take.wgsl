// The update that claimed element i, or x where none did.

fn compute(i: u32) -> T {
  let claim = load_claims(i);
  if (claim == 0u) { return load_x(i); }
  return load_updates(claim - 1u);
}
