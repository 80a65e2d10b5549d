// How attention adds up what it has seen. Constants: EMPTY_ROW_IS_NAN. Includes: numbers, functions.

fn is_lowest(x: f32) -> bool { return bitcast<u32>(x) == 0xff800000u; }  // minus infinity: nothing was seen

// exp(x) for x <= 0, without branches, which all lanes of a CPU take. What would be subnormal is 0: next to
// the largest, 1, it is nothing, and such numbers are slow. The first part of ln 2 times k is exact.
fn exp_below(x: f32) -> f32 {
  let bounded = max(x, -87.0);
  let k = round(bounded * 1.44269504);
  let r = (bounded - k * 0.693359375) + k * 2.12194440e-4;
  let tail = 0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)))));
  let y = (1.0 + (r + r * r * tail)) * power_of_two(i32(k));
  return select(select(y, 0.0, x < -87.0), make_nan(x), is_nan(x));
}

// e^(sink - highest), where a row has seen nothing but the sink: 1, or 0 of minus infinity, which is none.
fn first_total(sink: f32) -> f32 {
  if (is_lowest(sink)) { return 0.0; }
  return select(1.0, make_nan(sink), is_nan(sink) || is_inf(sink));
}

// A key of probability 0 adds nothing, whatever its value.
fn weighted(p: f32, v: vec4<f32>) -> vec4<f32> { return select(p * v, vec4<f32>(), p == 0.0); }

// The sums of a row over its total; a row that saw no key and has no sink has neither.
fn divided(sums: vec4<f32>, total: f32, highest: f32) -> vec4<f32> {
  if (is_lowest(highest)) { return vec4<f32>(select(0.0, make_nan(0.0), EMPTY_ROW_IS_NAN)); }
  return sums / total;
}
