// usage: node real_check.mjs inputs NAME FOLDER          writes FOLDER/INPUT.npy
//        node real_check.mjs network NAME FOLDER TOLERANCE   compares FOLDER/OUTPUT.npy
//        node real_check.mjs levels NAME FILE TOLERANCE      compares what the example vad wrote
// With what tests/models/real keeps. Of a network, elements may differ by TOLERANCE times the largest
// magnitude of the output; of levels, by TOLERANCE. Of a network that quantises what it computes, the root
// mean square of the difference may be half as much again as that of two ways onnxruntime has to run it.
// An answer must be the same whatever the tolerance.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { differences, load } from './compare.mjs'
import { npy } from './onnx.mjs'
import { networks } from './real.mjs'

const [what, name, path, tolerance] = process.argv.slice(2)
const kept = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'tests', 'models', 'real', `${name}.json`)
const reference = () => JSON.parse(readFileSync(kept))

function finish(problems, worst) {
  for (const problem of problems.slice(0, 5)) console.log(`  ${problem}`)
  if (problems.length > 5) console.log(`  and ${problems.length - 5} more`)
  console.log(`  largest difference ${worst.toExponential(1)}`)
  process.exitCode = problems.length ? 1 : 0
}

function apart(outputs) {
  let sum = 0,
    size = 0
  for (const [output, { step, values }] of Object.entries(outputs)) {
    const { data } = load(join(path, `${output}.npy`))
    values.forEach((value, i) => {
      sum += (data[i * step] - value) ** 2
      size += value * value
    })
  }
  return Math.sqrt(sum / size)
}

const commands = {
  inputs() {
    mkdirSync(path, { recursive: true })
    for (const [input, tensor] of Object.entries(networks[name].inputs()))
      writeFileSync(join(path, `${input}.npy`), npy(tensor))
  },
  network() {
    const { answer, outputs, spread } = reference()
    let { problems, worst } = differences(outputs, path, tolerance)
    if (spread) {
      worst = apart(outputs)
      problems = worst <= 1.5 * spread ? [] : [`differs by ${worst}, onnxruntime from itself by ${spread}`]
    }
    if (answer !== null) {
      const given = networks[name].answer(
        Object.fromEntries(Object.keys(outputs).map((output) => [output, load(join(path, `${output}.npy`))])),
      )
      if (JSON.stringify(given) !== JSON.stringify(answer))
        problems.push(`answers ${JSON.stringify(given)}, not ${JSON.stringify(answer)}`)
    }
    finish(problems, worst)
  },
  levels() {
    const { levels } = reference()
    const given = readFileSync(path, 'utf8').trim().split('\n').map(Number)
    const problems = []
    if (given.length !== levels.length) problems.push(`${given.length} frames, not ${levels.length}`)
    let worst = 0
    levels.forEach((level, i) => {
      const difference = Math.abs(level - given[i])
      worst = Math.max(worst, Number.isNaN(difference) ? Infinity : difference)
      if (!(difference <= tolerance)) problems.push(`frame ${i} is ${given[i]}, not ${level}`)
      // Speech begins above one half, and ends below 0.35.
      for (const limit of [0.5, 0.35])
        if (level >= limit !== given[i] >= limit) problems.push(`frame ${i} is on the other side of ${limit}`)
    })
    finish(problems, worst)
  },
}
commands[what]()
