// Does a number that becomes a 64-bit integer fit the 32 bits a device has for one? NaN becomes 0.
// Includes: numbers.

fn fits_i32_f32(x: f32) -> bool { return is_nan(x) || abs(x) < 2147483648.0 || x == -2147483648.0; }
fn fits_u32_f32(x: f32) -> bool { return is_nan(x) || x < 4294967296.0; }
fn fits_i32_u32(x: u32) -> bool { return x < 0x80000000u; }
fn fits_u32_i32(x: i32) -> bool { return x >= 0; }
