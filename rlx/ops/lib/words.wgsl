// 64-bit integers as two words, the low one first. They wrap; what is divided by zero gives 0.
// Includes: numbers.

alias Words = vec2<u32>;

fn words_of_i32(x: i32) -> Words { return Words(bitcast<u32>(x), bitcast<u32>(x >> 31u)); }
fn words_fit(x: Words) -> bool { return x.y == bitcast<u32>(bitcast<i32>(x.x) >> 31u); }
fn words_negative(x: Words) -> bool { return x.y >= 0x80000000u; }
fn words_equal(x: Words, y: Words) -> bool { return x.x == y.x && x.y == y.y; }
fn words_zero(x: Words) -> bool { return (x.x | x.y) == 0u; }

fn words_below(x: Words, y: Words) -> bool { return x.y < y.y || (x.y == y.y && x.x < y.x); }  // unsigned
fn words_less(x: Words, y: Words) -> bool {
  let a = bitcast<i32>(x.y);
  let b = bitcast<i32>(y.y);
  return a < b || (a == b && x.x < y.x);
}

fn words_add(x: Words, y: Words) -> Words {
  let low = x.x + y.x;
  return Words(low, x.y + y.y + select(0u, 1u, low < x.x));
}
fn words_neg(x: Words) -> Words { return Words(0u - x.x, 0u - x.y - select(0u, 1u, x.x != 0u)); }
fn words_sub(x: Words, y: Words) -> Words {
  return Words(x.x - y.x, x.y - y.y - select(0u, 1u, x.x < y.x));
}
fn words_abs(x: Words) -> Words { return select(x, words_neg(x), words_negative(x)); }
fn words_sign(x: Words) -> Words {
  return select(Words(select(1u, 0u, words_zero(x)), 0u), Words(0xffffffffu), words_negative(x));
}
fn words_max(x: Words, y: Words) -> Words { return select(x, y, words_less(x, y)); }
fn words_min(x: Words, y: Words) -> Words { return select(x, y, words_less(y, x)); }

fn words_product_of(a: u32, b: u32) -> Words {
  let low_low = (a & 0xffffu) * (b & 0xffffu);
  let low_high = (a & 0xffffu) * (b >> 16u);
  let high_low = (a >> 16u) * (b & 0xffffu);
  let middle = (low_low >> 16u) + (low_high & 0xffffu) + (high_low & 0xffffu);
  return Words((low_low & 0xffffu) | (middle << 16u),
               (a >> 16u) * (b >> 16u) + (low_high >> 16u) + (high_low >> 16u) + (middle >> 16u));
}
fn words_mul(x: Words, y: Words) -> Words {
  let low = words_product_of(x.x, y.x);
  return Words(low.x, low.y + x.x * y.y + x.y * y.x);
}

fn words_shift_left(x: Words, by: Words) -> Words {
  if (by.y != 0u || by.x > 63u) { return Words(0u); }
  let bits = by.x & 31u;
  if (by.x > 31u) { return Words(0u, x.x << bits); }
  if (bits == 0u) { return x; }
  return Words(x.x << bits, (x.y << bits) | (x.x >> (32u - bits)));
}
fn words_shift_right(x: Words, by: Words) -> Words {
  let most = select(by.x, 63u, by.y != 0u || by.x > 63u);
  let bits = most & 31u;
  let high = bitcast<i32>(x.y);
  if (most > 31u) { return Words(bitcast<u32>(high >> bits), bitcast<u32>(high >> 31u)); }
  if (bits == 0u) { return x; }
  return Words((x.x >> bits) | (x.y << (32u - bits)), bitcast<u32>(high >> bits));
}

// Quotient and remainder of numbers without a sign, bit by bit where they do not fit a word.
struct DividedWords { quotient: Words, rest: Words }
fn words_divided(x: Words, y: Words) -> DividedWords {
  if (words_zero(y)) { return DividedWords(Words(0u), Words(0u)); }
  if ((x.y | y.y) == 0u) { return DividedWords(Words(x.x / y.x, 0u), Words(x.x % y.x, 0u)); }
  var quotient = Words(0u);
  var rest = Words(0u);
  for (var bit = 64u; bit > 0u; bit--) {
    let word = select(x.x, x.y, bit > 32u);
    let carried = rest.y >= 0x80000000u;
    rest = Words((rest.x << 1u) | ((word >> ((bit - 1u) & 31u)) & 1u), (rest.y << 1u) | (rest.x >> 31u));
    quotient = Words(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (carried || !words_below(rest, y)) {
      rest = words_sub(rest, y);
      quotient.x |= 1u;
    }
  }
  return DividedWords(quotient, rest);
}
fn words_div(x: Words, y: Words) -> Words {  // toward zero
  let quotient = words_divided(words_abs(x), words_abs(y)).quotient;
  return select(quotient, words_neg(quotient), words_negative(x) != words_negative(y));
}
fn words_fmod(x: Words, y: Words) -> Words {  // with the sign of x
  let rest = words_divided(words_abs(x), words_abs(y)).rest;
  return select(rest, words_neg(rest), words_negative(x));
}
fn words_mod(x: Words, y: Words) -> Words {  // with the sign of y
  let rest = words_fmod(x, y);
  return select(rest, words_add(rest, y), !words_zero(rest) && words_negative(rest) != words_negative(y));
}

fn words_pow(x: Words, y: Words) -> Words {  // what is not a whole number goes toward zero
  if (words_negative(y)) {
    let odd = (y.x & 1u) == 1u;
    if (words_equal(x, Words(0xffffffffu))) { return select(Words(1u, 0u), x, odd); }
    return select(Words(0u), x, words_equal(x, Words(1u, 0u)));
  }
  var result = Words(1u, 0u);
  var square = x;
  var n = y;
  while (!words_zero(n)) {
    if ((n.x & 1u) == 1u) { result = words_mul(result, square); }
    square = words_mul(square, square);
    n = Words((n.x >> 1u) | (n.y << 31u), n.y >> 1u);
  }
  return result;
}

// Toward zero; what does not fit becomes the nearest end, NaN becomes 0.
fn words_of_f32(x: f32) -> Words {
  if (is_nan(x)) { return Words(0u); }
  if (x >= 9223372036854775808.0) { return Words(0xffffffffu, 0x7fffffffu); }
  if (x <= -9223372036854775808.0) { return Words(0u, 0x80000000u); }
  let whole = trunc(abs(x));
  let high = u32(whole * 0x1p-32);
  let words = Words(u32(whole - f32(high) * 0x1p+32), high);
  return select(words, words_neg(words), x < 0.0);
}
// To nearest even: bits that are cut off stay as one.
fn f32_of_words(x: Words) -> f32 {
  let words = words_abs(x);
  if (words.y == 0u) { return select(1.0, -1.0, words_negative(x)) * f32(words.x); }
  let shift = countLeadingZeros(words.y);
  let top = words_shift_left(words, Words(shift, 0u));
  let kept = top.y | select(0u, 1u, top.x != 0u);
  return select(1.0, -1.0, words_negative(x)) * ldexp(f32(kept), 32 - i32(shift));
}
