// tests/models/real/NAME.json for each model of real.mjs: what onnxruntime makes of it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { listeners, networks, packages, sound } from './real.mjs'
import { sample, step_of } from './sample.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const folder = join(root, 'tests', 'models', 'real')
const { InferenceSession, Tensor } = createRequire(join(process.env.NODE_PATH, 'x.js'))('onnxruntime-node')
const options = { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, logSeverityLevel: 3 }
const optimised = { graphOptimizationLevel: 'all' }
const open = (file, more) => InferenceSession.create(join(packages, file), { ...options, ...more })
const f32 = (data, dims) => new Tensor('float32', data, dims)
const short = (x) => Number(x.toPrecision(9))

function store(name, entries) {
  const lines = Object.entries(entries).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.json`), `{\n${lines.join(',\n')}\n}\n`)
}

// How far two ways to compute the same are apart: the root mean square of the difference, of that of the first.
function spread(first, second) {
  let apart = 0,
    size = 0
  for (const [output, { data }] of Object.entries(first))
    data.forEach((x, i) => {
      apart += (x - second[output].data[i]) ** 2
      size += x * x
    })
  return Math.sqrt(apart / size)
}

// Every element moved by one rounding, up or down, in one of many ways.
const ways = [1, 2, 3, 4, 5, 6, 7, 8]
const moved = (data, way) => data.map((x, i) => x * (1 + (Math.imul(i + 1, 2654435761 + 2 * way) & 65536 ? 2 ** -23 : -(2 ** -23))))
// How far roundings move a result, of the largest magnitude of it: how far it is from each of the others.
const noise = (largest, first, others) =>
  short(Math.max(...others.map((other) => first.reduce((most, x, i) => Math.max(most, Math.abs(x - other[i])), 0))) / largest)
const largest_of = (data) => data.reduce((most, x) => Math.max(most, Math.abs(x)), 0)

async function network(name) {
  const { file, inputs, answer, quantised } = networks[name]
  const feeds = (change) => Object.fromEntries(Object.entries(inputs()).map(([input, { dims, data }]) => [input, f32(change(data), dims)]))
  const as_is = feeds((data) => data)
  const plain = await open(file)
  const results = await plain.run(as_is)
  const others = [await (await open(file, optimised)).run(as_is)]
  for (const way of quantised ? [] : ways) others.push(await plain.run(feeds((data) => moved(data, way))))
  const outputs = Object.fromEntries(
    Object.entries(results).map(([output, { dims, data }]) => [output, sample(dims, data, step_of(data.length, 400))]),
  )
  const entries = { answer: answer?.(results) ?? null, outputs }
  if (quantised) entries.spread = short(spread(results, others[0]))
  else
    entries.noise = Math.max(
      ...Object.entries(results).map(([output, { data }]) => noise(largest_of(data), data, others.map((other) => other[output].data))),
    )
  store(name, entries)
  return results
}

async function levels_of(name, samples, more) {
  const { file, carried, context, size } = listeners[name]
  const session = await open(file, more)
  const feeds = Object.fromEntries(Object.keys(carried).map((input) => [input, f32(new Float32Array(2 * size), [2, 1, size])]))
  if (session.inputNames.includes('sr')) feeds.sr = new Tensor('int64', BigInt64Array.of(16000n), [])
  const levels = []
  for (let at = 0; at < samples.length; at += 512) {
    const frame = Float32Array.from({ length: context + 512 }, (_, i) => samples[at - context + i] ?? 0)
    const results = await session.run({ ...feeds, input: f32(frame, [1, frame.length]) })
    for (const [input, output] of Object.entries(carried)) feeds[input] = results[output]
    levels.push(results.output.data[0])
  }
  return levels
}

async function listener(name) {
  const levels = await levels_of(name, sound())
  const others = [await levels_of(name, sound(), optimised)]
  for (const way of ways) others.push(await levels_of(name, moved(sound(), way)))
  store(name, { levels: levels.map(short), noise: noise(1, levels, others) })
}

// Token by token, as moonshine-js does it.
async function decoder() {
  const sounds = (await network('moonshine-encoder')).last_hidden_state
  const session = await open('@moonshine-ai/moonshine-js/dist/model/tiny/quantized/decoder_model_merged.onnx')
  const past = {}
  for (const name of session.inputNames)
    if (name.startsWith('past')) past[name] = f32(new Float32Array(0), [1, 8, 0, 36])
  const tokens = [1],
    margins = []
  for (let first = true; tokens.at(-1) !== 2 && tokens.length < 100; first = false) {
    const results = await session.run({
      input_ids: new Tensor('int64', BigInt64Array.of(BigInt(tokens.at(-1))), [1, 1]),
      encoder_hidden_states: sounds,
      use_cache_branch: new Tensor('bool', Uint8Array.of(first ? 0 : 1), [1]),
      ...past,
    })
    for (const name of Object.keys(past))
      if (first || name.includes('.decoder.')) past[name] = results[name.replace('past_key_values', 'present')]
    const logits = results.logits.data
    const token = logits.reduce((at, x, i) => (x > logits[at] ? i : at), 0)
    margins.push(short(logits[token] - logits.reduce((most, x, i) => (i === token ? most : Math.max(most, x)), -Infinity)))
    tokens.push(token)
  }
  const script = pathToFileURL(join(packages, 'llama-tokenizer-js/llama-tokenizer.js'))
  const { default: tokenizer } = await import(script)
  store('moonshine', { text: tokenizer.decode(tokens.slice(0, -1)), tokens, margins })
}

const wanted = process.argv.slice(2)
const all = [...Object.keys(networks), ...Object.keys(listeners), 'moonshine']
for (const name of wanted.length ? wanted : all) {
  if (name === 'moonshine') await decoder()
  else if (name in networks) await network(name)
  else await listener(name)
  console.log(name, readFileSync(join(folder, `${name}.json`), 'utf8').slice(0, 100))
}
