// usage: node compare.mjs REFERENCE.json FOLDER TOLERANCE
//
// Compares FOLDER/OUTPUT.npy of each output with the stored one: elements may differ by TOLERANCE
// times the largest magnitude of the output, sums by as much for each element of them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sample } from './sample.mjs'

const arrays = {
  '<f4': Float32Array,
  '<f8': Float64Array,
  '<i4': Int32Array,
  '<i8': BigInt64Array,
  '|u1': Uint8Array,
  '|i1': Int8Array,
  '|b1': Uint8Array,
}

export function load(path) {
  const file = readFileSync(path),
    start = 10 + file.readUInt16LE(8)
  const header = file.toString('latin1', 10, start)
  const array = arrays[/'descr': '([^']+)'/.exec(header)[1]]
  const dims = /'shape': \(([^)]*)\)/
    .exec(header)[1]
    .split(',')
    .filter((d) => d.trim())
    .map(Number)
  return { dims, data: new array(file.buffer.slice(file.byteOffset + start, file.byteOffset + file.length)) }
}

// What is wrong with FOLDER/OUTPUT.npy of each of the stored outputs, and the largest difference.
export function differences(outputs, folder, tolerance) {
  let worst = 0
  const problems = []
  for (const [name, wanted] of Object.entries(outputs)) {
    const { dims, data } = load(join(folder, `${name}.npy`))
    if (String(dims) !== String(wanted.dims)) {
      problems.push(`${name} is [${dims}], not [${wanted.dims}]`)
      continue
    }
    const got = sample(dims, data, wanted.step)
    const largest = Math.max(...wanted.values.map(Math.abs), 1e-30)
    const check = (what, a, b, scale) => {
      const difference = Object.is(a, b) ? 0 : Math.abs(a - b) / scale
      worst = Math.max(worst, Number.isNaN(difference) ? Infinity : difference)
      if (!(difference <= Number(tolerance))) problems.push(`${name}: ${what} is ${a}, not ${b}`)
    }
    wanted.values.forEach((value, i) => check(`element ${i * wanted.step}`, got.values[i], value, largest))
    wanted.sums.forEach((sum, i) =>
      check(['sum', 'sum of magnitudes'][i], got.sums[i], sum, largest * data.length),
    )
  }
  return { problems, worst }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [reference, folder, tolerance] = process.argv.slice(2)
  const { problems, worst } = differences(JSON.parse(readFileSync(reference)), folder, tolerance)
  for (const problem of problems.slice(0, 5)) console.log(`  ${problem}`)
  if (problems.length > 5) console.log(`  and ${problems.length - 5} more`)
  console.log(`  largest difference ${worst.toExponential(1)}`)
  process.exitCode = problems.length ? 1 : 0
}
