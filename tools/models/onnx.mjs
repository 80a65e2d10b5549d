// Writes ONNX models: protobuf by hand, and numbers that are the same on every machine.
import { mkdirSync, openSync, writeSync, closeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Each dtype: its number in ONNX, its name in .npy files, how JavaScript holds it.
export const dtypes = {
  f32: { onnx: 1, npy: '<f4', array: Float32Array },
  u8: { onnx: 2, npy: '|u1', array: Uint8Array },
  i8: { onnx: 3, npy: '|i1', array: Int8Array },
  i32: { onnx: 6, npy: '<i4', array: Int32Array },
  i64: { onnx: 7, npy: '<i8', array: BigInt64Array },
  bool: { onnx: 9, npy: '|b1', array: Uint8Array },
}

const count = (dims) => dims.reduce((product, dim) => product * dim, 1)

export function tensor(dtype, dims, values) {
  const array = dtypes[dtype].array
  if (values.length !== count(dims)) throw new Error(`${values.length} values for ${dims}`)
  return { dtype, dims, data: dtype === 'i64' ? array.from(values, BigInt) : array.from(values) }
}
export const ints = (...values) => tensor('i64', [values.length], values)
export const scalar = (value, dtype = 'f32') => tensor(dtype, [], [value])

// ---- Random numbers: a hash of the tensor's name and the element's place ----

function seedOf(name) {
  let hash = 0x811c9dc5
  for (const c of name) hash = Math.imul(hash ^ c.codePointAt(0), 0x01000193)
  return hash >>> 0
}
function mixed(x) {
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

// Uniform in [-1, 1) times a factor, plus an offset: of 24 bits each, so that f32 holds them all.
export function uniform(name, dims, factor = 1, offset = 0) {
  const data = new Float32Array(count(dims))
  const seed = seedOf(name)
  for (let i = 0; i < data.length; ++i)
    data[i] = ((mixed((seed + Math.imul(i, 0x9e3779b9)) | 0) >>> 8) * 2 ** -23 - 1) * factor + offset
  return { dtype: 'f32', dims, data }
}
// As many as a deviation asks for.
export const spread = (name, dims, deviation, offset = 0) =>
  uniform(name, dims, Math.fround(deviation * Math.sqrt(3)), offset)

export function integers(name, dtype, dims, low, high) {
  const seed = seedOf(name)
  const numbers = Array.from(
    { length: count(dims) },
    (_, i) => low + (mixed((seed + Math.imul(i, 0x9e3779b9)) | 0) % (high - low)),
  )
  return tensor(dtype, dims, numbers)
}

// ---- Protobuf ----

function varint(value) {
  const bytes = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}
const key = (field, wire) => varint(field * 8 + wire)
const int = (field, value) => [key(field, 0), varint(value)]
function bytes(field, value) {
  const content = typeof value === 'string' ? Buffer.from(value) : value
  return [key(field, 2), varint(content.length), content]
}
function float(field, value) {
  const content = Buffer.alloc(4)
  content.writeFloatLE(value)
  return [key(field, 5), content]
}
const message = (field, parts) => bytes(field, Buffer.concat(parts.flat(Infinity)))

const kinds = { float: 1, int: 2, string: 3, tensor: 4, graph: 5, floats: 6, ints: 7 }
// Marks a number as a float, which JavaScript does not tell from an integer.
export const real = (value) => ({ real: value })
export const reals = (...values) => ({ reals: values })

function attributeContent(value) {
  if (typeof value === 'number') return ['int', int(3, value)]
  if (typeof value === 'string') return ['string', bytes(4, value)]
  if (Array.isArray(value)) return ['ints', value.map((v) => int(8, v))]
  if ('real' in value) return ['float', float(2, value.real)]
  if ('reals' in value) return ['floats', value.reals.map((v) => float(7, v))]
  if (value instanceof Model) return ['graph', message(6, value.graph())]
  return ['tensor', message(5, tensorFields('', value))]
}
function attribute(name, value) {
  const [kind, content] = attributeContent(value)
  return message(5, [bytes(1, name), content, int(20, kinds[kind])])
}

const bytesOf = (t) => Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength)

function tensorFields(name, t, place) {
  const entry = (k, value) => message(13, [bytes(1, k), bytes(2, String(value))])
  return [
    t.dims.map((dim) => int(1, dim)),
    int(2, dtypes[t.dtype].onnx),
    bytes(8, name),
    place ? [Object.entries(place).map(([k, v]) => entry(k, v)), int(14, 1)] : bytes(9, bytesOf(t)),
  ]
}

function valueInfo(field, { name, dtype, dims }) {
  const dim = (d) => message(1, [typeof d === 'string' ? bytes(2, d) : int(1, d)])
  const type = [int(1, dtypes[dtype].onnx), message(2, dims.map(dim))]
  return message(field, [bytes(1, name), message(2, [message(1, type)])])
}

// ---- Models ----

export class Model {
  constructor(name, { opset = 17, external = false } = {}) {
    Object.assign(this, { name, opset, external, nodes: [], inputs: [], outputs: [], tensors: [], next: 0 })
  }
  input(name, dtype, dims) {
    this.inputs.push({ name, dtype, dims })
    return name
  }
  output(name, dtype, dims) {
    this.outputs.push({ name, dtype, dims })
    return name
  }
  weight(name, t) {
    this.tensors.push({ name, t })
    return name
  }
  constant(t) {
    return this.weight(`constant_${this.next++}`, t)
  }
  // One name for one result; as many as `outputs` says otherwise, where null leaves one out.
  op(type, inputs, attributes = {}, { outputs, domain = '' } = {}) {
    const names = outputs ?? [`${type}_${this.next++}`]
    const where = { inputs: inputs.map((i) => i ?? ''), outputs: names.map((o) => o ?? '') }
    this.nodes.push({ type, domain, attributes, ...where })
    return outputs ? names : names[0]
  }

  graph(places = new Map()) {
    const node = ({ type, domain, attributes, inputs, outputs }) =>
      message(1, [
        inputs.map((i) => bytes(1, i)),
        outputs.map((o) => bytes(2, o)),
        bytes(3, `${type}:${outputs.find((o) => o)}`),
        bytes(4, type),
        Object.entries(attributes).map(([name, value]) => attribute(name, value)),
        bytes(7, domain),
      ])
    return [
      this.nodes.map(node),
      bytes(2, this.name),
      this.tensors.map(({ name, t }) => message(5, tensorFields(name, t, places.get(name)))),
      this.inputs.map((info) => valueInfo(11, info)),
      this.outputs.map((info) => valueInfo(12, info)),
    ]
  }

  // NAME.onnx, and NAME.onnx.data where the tensors are kept outside.
  save(folder) {
    mkdirSync(folder, { recursive: true })
    const path = join(folder, `${this.name}.onnx`),
      places = new Map()
    if (this.external) {
      const alignment = 4096,
        file = openSync(`${path}.data`, 'w')
      let offset = 0
      for (const { name, t } of this.tensors) {
        if (t.data.byteLength < 1024) continue
        writeSync(file, bytesOf(t), 0, t.data.byteLength, offset)
        places.set(name, { location: `${this.name}.onnx.data`, offset, length: t.data.byteLength })
        offset = Math.ceil((offset + t.data.byteLength) / alignment) * alignment
      }
      closeSync(file)
    }
    const opset = (domain, version) => message(8, [bytes(1, domain), int(2, version)])
    const parts = [
      int(1, this.opset > 17 ? 10 : 8),
      bytes(2, 'rlx'),
      message(7, this.graph(places)),
      opset('', this.opset),
    ]
    if (this.nodes.some((n) => n.domain)) parts.push(opset('com.microsoft', 1))
    writeFileSync(path, Buffer.concat(parts.flat(Infinity)))
  }
}

export function npy({ dtype, dims, data }) {
  const shape = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(', ')})`
  const text = `{'descr': '${dtypes[dtype].npy}', 'fortran_order': False, 'shape': ${shape}, }`
  const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n'
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1')
  start.writeUInt16LE(header.length, 8)
  return Buffer.concat([start, Buffer.from(header), bytesOf({ data })])
}
