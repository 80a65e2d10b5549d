// Integers: division toward zero, remainders and powers. What is divided by zero gives 0.

fn divide_i32(x: i32, y: i32) -> i32 { return select(x / select(y, 1, y == 0), 0, y == 0); }
fn divide_u32(x: u32, y: u32) -> u32 { return select(x / max(y, 1u), 0u, y == 0u); }

// The remainder with the sign of x, and with that of y.
fn remainder_i32(x: i32, y: i32) -> i32 { return select(x % select(y, 1, y == 0 || y == -1), 0, y == 0 || y == -1); }
fn mod_i32(x: i32, y: i32) -> i32 {
  let rest = remainder_i32(x, y);
  return select(rest, rest + y, rest != 0 && (rest < 0) != (y < 0));
}
fn mod_u32(x: u32, y: u32) -> u32 { return select(x % max(y, 1u), 0u, y == 0u); }

fn pow_u32(x: u32, y: u32) -> u32 {
  var result = 1u;
  var square = x;
  for (var n = y; n > 0u; n >>= 1u) {
    if ((n & 1u) == 1u) { result *= square; }
    square *= square;
  }
  return result;
}
// What is not a whole number goes toward zero.
fn pow_i32(x: i32, y: i32) -> i32 {
  if (y >= 0) { return bitcast<i32>(pow_u32(bitcast<u32>(x), u32(y))); }
  if (x == -1) { return select(1, -1, (y & 1) == 1); }
  return select(0, 1, x == 1);
}

fn shift_left_u32(x: u32, bits: u32) -> u32 { return select(x << (bits & 31u), 0u, bits > 31u); }
fn shift_left_i32(x: i32, bits: i32) -> i32 { return bitcast<i32>(shift_left_u32(bitcast<u32>(x), bitcast<u32>(bits))); }
fn shift_right_u32(x: u32, bits: u32) -> u32 { return select(x >> (bits & 31u), 0u, bits > 31u); }
fn shift_right_i32(x: i32, bits: i32) -> i32 { return x >> min(bitcast<u32>(bits), 31u); }
