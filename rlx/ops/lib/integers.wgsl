// Division toward zero; by zero it gives 0.

fn divide_i32(x: i32, y: i32) -> i32 { return select(x / select(y, 1, y == 0), 0, y == 0); }
fn divide_u32(x: u32, y: u32) -> u32 { return select(x / max(y, 1u), 0u, y == 0u); }
