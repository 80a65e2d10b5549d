// FOLDER/NAME.onnx and FOLDER/NAME/INPUT.npy; FOLDER is .deps/models where it is not given, and the
// names are all there are.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { all } from './all.mjs'
import { npy } from './onnx.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const [folder = join(root, '.deps', 'models'), ...names] = process.argv.slice(2)
const unknown = names.filter((name) => !(name in all))
if (unknown.length) {
  console.error(`make-models: there is no ${unknown.join(', ')}; there is ${Object.keys(all).join(', ')}`)
  process.exit(2)
}
for (const name of names.length ? names : Object.keys(all)) {
  const { model, inputs } = all[name]()
  model.save(folder)
  mkdirSync(join(folder, name), { recursive: true })
  for (const [input, tensor] of Object.entries(inputs))
    writeFileSync(join(folder, name, `${input}.npy`), npy(tensor))
}
