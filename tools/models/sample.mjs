// What is stored of an output: all of a small one, else elements spread over it; and its sums, which
// see every element.
export const step_of = (length, most = 48) => Math.max(1, Math.floor(length / most) | 1)

export function sample(dims, data, step = step_of(data.length)) {
  const values = Array.from(data, Number)
  const picked = values.filter((_, i) => i % step === 0)
  // What f32 holds is told by nine digits.
  const short = (x) => Number(x.toPrecision(9))
  const sums = [values.reduce((a, b) => a + b, 0), values.reduce((a, b) => a + Math.abs(b), 0)]
  return { dims: Array.from(dims, Number), step, sums: sums.map(short), values: picked.map(short) }
}
