// usage: node real_check.mjs inputs NAME FOLDER    writes FOLDER/INPUT.npy
//        node real_check.mjs network NAME FOLDER   compares FOLDER/OUTPUT.npy
//        node real_check.mjs levels NAME FILE      compares what the example vad wrote, of the sound's start at least
// With what tests/models/real keeps. What may differ is computed from what roundings do to this network:
// four times as far as onnxruntime is from itself, with its graph optimisations or with inputs that are
// moved by one rounding, the furthest of eight ways to. Of a network that quantises what it computes, the
// root mean square of the difference may be half as much again as that of onnxruntime with its optimisations.
// An answer must be the same whatever the tolerance.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { differences, load } from './compare.mjs'
import { npy } from './onnx.mjs'
import { networks } from './real.mjs'

const [what, name, path] = process.argv.slice(2)
const kept = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'tests', 'models', 'real', `${name}.json`)
const reference = () => JSON.parse(readFileSync(kept))
const tolerance_of = (noise) => 4 * Math.max(noise, 2 ** -23)

function finish(problems, worst, allowed) {
  for (const problem of problems.slice(0, 5)) console.log(`  ${problem}`)
  if (problems.length > 5) console.log(`  and ${problems.length - 5} more`)
  console.log(`  largest difference ${worst.toExponential(1)} of ${allowed.toExponential(1)} allowed`)
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
    const { answer, outputs, spread, noise } = reference()
    let allowed = tolerance_of(noise)
    let { problems, worst } = differences(outputs, path, allowed)
    if (spread) {
      allowed = 1.5 * spread
      worst = apart(outputs)
      problems = worst <= allowed ? [] : [`differs by ${worst}, onnxruntime from itself by ${spread}`]
    }
    if (answer !== null) {
      const given = networks[name].answer(
        Object.fromEntries(Object.keys(outputs).map((output) => [output, load(join(path, `${output}.npy`))])),
      )
      if (JSON.stringify(given) !== JSON.stringify(answer))
        problems.push(`answers ${JSON.stringify(given)}, not ${JSON.stringify(answer)}`)
    }
    finish(problems, worst, allowed)
  },
  levels() {
    const { levels, noise } = reference()
    const tolerance = tolerance_of(noise)
    const given = readFileSync(path, 'utf8').trim().split('\n').map(Number)
    const problems = []
    if (given.length < 60 || given.length > levels.length) problems.push(`${given.length} frames, not ${levels.length}`)
    let worst = 0
    levels.slice(0, given.length).forEach((level, i) => {
      const difference = Math.abs(level - given[i])
      worst = Math.max(worst, Number.isNaN(difference) ? Infinity : difference)
      if (!(difference <= tolerance)) problems.push(`frame ${i} is ${given[i]}, not ${level}`)
      // Speech begins above one half, and ends below 0.35.
      for (const limit of [0.5, 0.35])
        if (level >= limit !== given[i] >= limit) problems.push(`frame ${i} is on the other side of ${limit}`)
    })
    finish(problems, worst, tolerance)
  },
}
commands[what]()
