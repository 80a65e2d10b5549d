// tests/models/NAME.json for each model: what onnxruntime makes of it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { all } from './all.mjs'
import { sample } from './sample.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const { InferenceSession, Tensor } = createRequire(join(process.env.NODE_PATH, 'x.js'))('onnxruntime-node')
const names = { f32: 'float32', i64: 'int64', i32: 'int32', u8: 'uint8', i8: 'int8', bool: 'bool' }

async function run(name, folder) {
  // A model may say which other one is right.
  const { model, inputs, reference = model } = all[name]()
  reference.save(folder)
  const feeds = {}
  for (const [input, { dtype, dims, data }] of Object.entries(inputs))
    feeds[input] = new Tensor(names[dtype], data, dims)
  const options = { graphOptimizationLevel: 'disabled', intraOpNumThreads: 1, logSeverityLevel: 3 }
  const session = await InferenceSession.create(join(folder, `${name}.onnx`), options)
  const results = await session.run(feeds)
  const lines = Object.entries(results).map(
    ([output, { dims, data }]) => `  ${JSON.stringify(output)}: ${JSON.stringify(sample(dims, data))}`,
  )
  writeFileSync(join(root, 'tests', 'models', `${name}.json`), `{\n${lines.join(',\n')}\n}\n`)
  await session.release()
}

const wanted = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'rlx-models-'))
let failed = 0
try {
  for (const name of wanted.length ? wanted : Object.keys(all))
    await run(name, folder).catch((error) => {
      console.error(`${name}: ${error.message}`)
      failed = 1
    })
} finally {
  rmSync(folder, { recursive: true })
}
process.exitCode = failed
