// Networks people run, with seeded weights: each gives a model and the inputs to run it with.
import { Model, ints, integers, real, scalar, spread, tensor, uniform } from './onnx.mjs'

const tokens = 16,
  vocabulary = 30522

function tokenInputs() {
  // The last tokens are padding.
  const mask = Array.from({ length: tokens }, (_, i) => (i < tokens - 3 ? 1 : 0))
  return {
    input_ids: integers('input_ids', 'i64', [1, tokens], 0, vocabulary),
    attention_mask: tensor('i64', [1, tokens], mask),
    token_type_ids: integers('token_type_ids', 'i64', [1, tokens], 0, 2),
  }
}

class Encoder extends Model {
  constructor(name, width, heads, options) {
    super(name, options)
    Object.assign(this, { width, heads })
    for (const input of ['input_ids', 'attention_mask', 'token_type_ids'])
      this.input(input, 'i64', ['batch', 'sequence'])
  }
  table(name, rows) {
    return this.weight(name, spread(name, [rows, this.width], 0.05))
  }
  dense(x, name, from, to) {
    const w = this.weight(`${name}.weight`, spread(`${name}.weight`, [from, to], 1.5 / Math.sqrt(from)))
    const product = this.op('MatMul', [x, w])
    return this.op('Add', [this.weight(`${name}.bias`, spread(`${name}.bias`, [to], 0.1)), product])
  }
  normParameters(name) {
    const gamma = this.weight(`${name}.weight`, uniform(`${name}.weight`, [this.width], 0.25, 1))
    return [gamma, this.weight(`${name}.bias`, uniform(`${name}.bias`, [this.width], 0.1))]
  }
  gelu(x) {
    const ratio = this.op('Erf', [this.op('Div', [x, this.constant(scalar(Math.SQRT2))])])
    const both = this.op('Mul', [x, this.op('Add', [ratio, this.constant(scalar(1))])])
    return this.op('Mul', [both, this.constant(scalar(0.5))])
  }
  layer(x, name, mask) {
    const size = this.width / this.heads
    const heads = (part, perm) =>
      this.op('Transpose', [this.partHeads(this.dense(x, `${name}.${part}`, this.width, this.width))], {
        perm,
      })
    const q = heads('query', [0, 2, 1, 3]),
      k = heads('key', [0, 2, 3, 1]),
      v = heads('value', [0, 2, 1, 3])
    const scores = this.op('Div', [this.op('MatMul', [q, k]), this.constant(scalar(Math.sqrt(size)))])
    const chances = this.op('Softmax', [this.op('Add', [scores, mask])], { axis: -1 })
    const mixed = this.joinHeads(
      this.op('Transpose', [this.op('MatMul', [chances, v])], { perm: [0, 2, 1, 3] }),
    )
    const attended = this.dense(mixed, `${name}.output`, this.width, this.width)
    const first = this.norm(this.op('Add', [attended, x]), `${name}.norm1`)
    const wide = this.gelu(this.dense(first, `${name}.up`, this.width, 4 * this.width))
    const narrow = this.dense(wide, `${name}.down`, 4 * this.width, this.width)
    return this.norm(this.op('Add', [narrow, first]), `${name}.norm2`)
  }
  additiveMask(mask, lowest) {
    const kept = this.op('Cast', [mask], { to: 1 })
    const left = this.op('Sub', [this.constant(scalar(1)), kept])
    return this.op('Mul', [left, this.constant(scalar(lowest))])
  }
}

// As PyTorch's first exporter writes it: norms of single operators, shapes computed from shapes.
class TracedEncoder extends Encoder {
  extent(x, axis) {
    return this.op('Gather', [this.op('Shape', [x]), this.constant(scalar(axis, 'i64'))], { axis: 0 })
  }
  viewed(x, ...last) {
    const at = (axis) => this.op('Unsqueeze', [this.extent(x, axis), this.constant(ints(0))])
    const dims = [at(0), at(1), ...last.map((dim) => this.constant(ints(dim)))]
    return this.op('Reshape', [x, this.op('Concat', dims, { axis: 0 })])
  }
  partHeads(x) {
    return this.viewed(x, this.heads, this.width / this.heads)
  }
  joinHeads(x) {
    return this.viewed(x, this.width)
  }
  norm(x, name) {
    const [gamma, beta] = this.normParameters(name)
    const distance = this.op('Sub', [x, this.op('ReduceMean', [x], { axes: [-1] })])
    const squares = this.op('Pow', [distance, this.constant(scalar(2))])
    const variance = this.op('ReduceMean', [squares], { axes: [-1] })
    const deviation = this.op('Sqrt', [this.op('Add', [variance, this.constant(scalar(1e-12))])])
    return this.op('Add', [this.op('Mul', [this.op('Div', [distance, deviation]), gamma]), beta])
  }
}

function miniLm() {
  const m = new TracedEncoder('minilm', 384, 12, { opset: 14 })
  const all = m.constant(
    tensor(
      'i64',
      [1, 512],
      Array.from({ length: 512 }, (_, i) => i),
    ),
  )
  const length = m.op('Unsqueeze', [m.extent('input_ids', 1), m.constant(ints(0))])
  const positions = m.op('Slice', [
    all,
    m.constant(ints(0)),
    length,
    m.constant(ints(1)),
    m.constant(ints(1)),
  ])
  const words = m.op('Gather', [m.table('words', vocabulary), 'input_ids'], { axis: 0 })
  const types = m.op('Gather', [m.table('types', 2), 'token_type_ids'], { axis: 0 })
  const places = m.op('Gather', [m.table('positions', 512), positions], { axis: 0 })
  let x = m.norm(m.op('Add', [m.op('Add', [words, types]), places]), 'embeddings')
  const wide = m.op('Unsqueeze', [
    m.op('Unsqueeze', ['attention_mask', m.constant(ints(1))]),
    m.constant(ints(2)),
  ])
  const mask = m.additiveMask(wide, -3.4028234663852886e38)
  for (let layer = 0; layer < 6; ++layer) x = m.layer(x, `layer${layer}`, mask)
  m.op('Identity', [x], {}, { outputs: [m.output('last_hidden_state', 'f32', ['batch', 'sequence', 384])] })
  return { model: m, inputs: tokenInputs() }
}

// As an optimiser leaves it: whole norms, shapes as constants; and weights in a file of their own.
class TidyEncoder extends Encoder {
  partHeads(x) {
    return this.op('Reshape', [x, this.constant(ints(0, 0, this.heads, this.width / this.heads))])
  }
  joinHeads(x) {
    return this.op('Reshape', [x, this.constant(ints(0, 0, this.width))])
  }
  norm(x, name) {
    const operands = [x, ...this.normParameters(name)]
    return this.op('LayerNormalization', operands, { axis: -1, epsilon: real(1e-12) })
  }
}

function bertBase() {
  const m = new TidyEncoder('bert-base', 768, 12, { external: true })
  const length = m.op('Shape', ['input_ids'], { start: 1, end: 2 })
  const count = m.op('Squeeze', [length, m.constant(ints(0))])
  const positions = m.op('Range', [m.constant(scalar(0, 'i64')), count, m.constant(scalar(1, 'i64'))])
  const words = m.op('Gather', [m.table('words', vocabulary), 'input_ids'], { axis: 0 })
  const types = m.op('Gather', [m.table('types', 2), 'token_type_ids'], { axis: 0 })
  const places = m.op('Gather', [m.table('positions', 512), positions], { axis: 0 })
  let x = m.norm(m.op('Add', [m.op('Add', [words, types]), places]), 'embeddings')
  const mask = m.additiveMask(m.op('Unsqueeze', ['attention_mask', m.constant(ints(1, 2))]), -10000)
  for (let layer = 0; layer < 12; ++layer) x = m.layer(x, `layer${layer}`, mask)
  m.op('Identity', [x], {}, { outputs: [m.output('last_hidden_state', 'f32', ['batch', 'sequence', 768])] })
  const first = m.op('Gather', [x, m.constant(scalar(0, 'i64'))], { axis: 1 })
  const w = m.weight('pooler.weight', spread('pooler.weight', [768, 768], 1 / Math.sqrt(768)))
  const b = m.weight('pooler.bias', spread('pooler.bias', [768], 0.1))
  const pooled = m.op('Gemm', [first, w, b], { alpha: real(1), beta: real(1), transB: 1 })
  m.op('Tanh', [pooled], {}, { outputs: [m.output('pooler_output', 'f32', ['batch', 768])] })
  return { model: m, inputs: tokenInputs() }
}

// ---- Pictures ----

class PictureNet extends Model {
  constructor(name, picture = ['batch', 3, 224, 224]) {
    super(name, { opset: 13 })
    this.input('input', 'f32', picture)
    this.convolutions = 0
  }
  weights(name, dims, deviation) {
    return this.weight(name, spread(name, dims, deviation))
  }
  conv(x, from, to, window, stride, { groups = 1, bias = false, edge = window >> 1 } = {}) {
    const name = `conv${this.convolutions++}`,
      inputs = (from / groups) * window * window
    const operands = [
      x,
      this.weights(`${name}.weight`, [to, from / groups, window, window], Math.sqrt(2 / inputs)),
    ]
    if (bias) operands.push(this.weights(`${name}.bias`, [to], 0.1))
    return this.op('Conv', operands, {
      dilations: [1, 1],
      group: groups,
      kernel_shape: [window, window],
      pads: [edge, edge, edge, edge],
      strides: [stride, stride],
    })
  }
  classes(x, from) {
    const flat = this.op('Flatten', [this.op('GlobalAveragePool', [x])], { axis: 1 })
    const w = this.weights('classes.weight', [1000, from], 1 / Math.sqrt(from))
    const operands = [flat, w, this.weights('classes.bias', [1000], 0.1)]
    const outputs = [this.output('logits', 'f32', ['batch', 1000])]
    this.op('Gemm', operands, { alpha: real(1), beta: real(1), transB: 1 }, { outputs })
    return { model: this, inputs: { input: uniform('picture', [1, 3, 224, 224], 2) } }
  }
}

function resnet18() {
  const m = new PictureNet('resnet18')
  const norm = (x, channels) => {
    const name = `norm${m.convolutions}`,
      part = (what, factor, offset) =>
        m.weight(`${name}.${what}`, uniform(`${name}.${what}`, [channels], factor, offset))
    const operands = [
      part('weight', 0.25, 0.75),
      part('bias', 0.1, 0),
      part('mean', 0.1, 0),
      part('variance', 0.25, 1),
    ]
    return m.op('BatchNormalization', [x, ...operands], { epsilon: real(1e-5), momentum: real(0.9) })
  }
  const block = (x, from, to, stride) => {
    const inner = m.op('Relu', [norm(m.conv(x, from, to, 3, stride), to)])
    const y = norm(m.conv(inner, to, to, 3, 1), to)
    const skip = from === to ? x : norm(m.conv(x, from, to, 1, stride), to)
    return m.op('Relu', [m.op('Add', [y, skip])])
  }
  let x = m.op('Relu', [norm(m.conv('input', 3, 64, 7, 2), 64)])
  x = m.op('MaxPool', [x], { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [2, 2] })
  let from = 64
  for (const [to, stride] of [
    [64, 1],
    [128, 2],
    [256, 2],
    [512, 2],
  ]) {
    x = block(block(x, from, to, stride), to, to, 1)
    from = to
  }
  return m.classes(x, 512)
}

function mobileNetV2() {
  const m = new PictureNet('mobilenetv2')
  const low = m.constant(scalar(0)),
    high = m.constant(scalar(6))
  const bounded = (x) => m.op('Clip', [x, low, high])
  let x = bounded(m.conv('input', 3, 32, 3, 2, { bias: true })),
    from = 32
  const stages = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
  ]
  for (const [factor, to, repeats, firstStride] of stages)
    for (let i = 0; i < repeats; ++i) {
      const stride = i === 0 ? firstStride : 1,
        inner = from * factor
      const wide = factor === 1 ? x : bounded(m.conv(x, from, inner, 1, 1, { bias: true }))
      const deep = bounded(m.conv(wide, inner, inner, 3, stride, { groups: inner, bias: true }))
      const y = m.conv(deep, inner, to, 1, 1, { bias: true })
      x = stride === 1 && from === to ? m.op('Add', [x, y]) : y
      from = to
    }
  return m.classes(bounded(m.conv(x, from, 1280, 1, 1, { bias: true })), 1280)
}

// A reader of lines of text: convolutions down to one row, two layers of LSTMs both ways, and a score
// for each of some thousand characters at each place.
function crnn() {
  const m = new PictureNet('crnn', ['batch', 1, 32, 320])
  const characters = 6625,
    hidden = 256
  const pool = (x, across) =>
    m.op('MaxPool', [x], { kernel_shape: [2, across], pads: [0, 0, 0, 0], strides: [2, across] })
  const layer = (x, from, to, window = 3, edge = 1) =>
    m.op('Relu', [m.conv(x, from, to, window, 1, { bias: true, edge })])
  let x = pool(layer('input', 1, 64), 2)
  x = pool(layer(x, 64, 128), 2)
  x = pool(layer(layer(x, 128, 256), 256, 256), 1)
  x = pool(layer(layer(x, 256, 512), 512, 512), 1)
  x = m.op('Squeeze', [layer(x, 512, 512, 2, 0), m.constant(ints(2))])
  x = m.op('Transpose', [x], { perm: [2, 0, 1] })
  for (const name of ['lstm1', 'lstm2']) {
    const part = (what, ...dims) => m.weights(`${name}.${what}`, [2, ...dims], 1 / Math.sqrt(3 * hidden))
    const operands = [
      x,
      part('w', 4 * hidden, 512),
      part('r', 4 * hidden, hidden),
      part('b', 8 * hidden),
    ]
    const [y] = m.op(
      'LSTM',
      operands,
      { direction: 'bidirectional', hidden_size: hidden },
      { outputs: [`${name}.y`, null, null] },
    )
    const turned = m.op('Transpose', [y], { perm: [0, 2, 1, 3] })
    x = m.op('Reshape', [turned, m.constant(ints(0, 0, 2 * hidden))])
  }
  const w = m.weights('characters.weight', [2 * hidden, characters], 1 / Math.sqrt(2 * hidden))
  const scores = m.op('MatMul', [x, w])
  m.op('Add', [scores, m.weights('characters.bias', [characters], 0.1)], {}, {
    outputs: [m.output('scores', 'f32', ['places', 'batch', characters])],
  })
  return { model: m, inputs: { input: uniform('line', [1, 1, 32, 320], 1) } }
}

// ResNet-18 as a quantiser leaves it: bytes between whole operators, weights of bytes with a scale for
// each channel. What is below 0 is cut by the zero point, which is what the relus have become.
class ByteNet extends PictureNet {
  // Room for four deviations; half of it where all are above 0.
  place(square, above) {
    const reach = 4 * Math.sqrt(square)
    return above ? [Math.fround(reach / 255), 0] : [Math.fround((2 * reach) / 255), 128]
  }
  // A value of bytes that stand for numbers of a mean square; its name comes with its producer.
  byteValue(scale, zero, square) {
    const parameters = [this.constant(scalar(scale)), this.constant(scalar(zero, 'u8'))]
    const value = { scale, square, parameters, name: '' }
    value.all = () => [value.name, ...parameters]
    return value
  }
  byteConv(x, from, to, window, stride, above) {
    const name = `conv${this.convolutions++}`,
      inner = from * window * window
    const w = this.weight(`${name}.weight`, integers(`${name}.weight`, 'i8', [to, from, window, window], -127, 128))
    const each = Math.sqrt(2 / inner) / (127 / Math.sqrt(3))
    const scales = this.weight(`${name}.scale`, uniform(`${name}.scale`, [to], each / 4, each))
    const zeros = this.weight(`${name}.zero`, tensor('i8', [to], Array(to).fill(0)))
    const step = x.scale * each
    const bias = this.weight(
      `${name}.bias`,
      integers(`${name}.bias`, 'i32', [to], -Math.round(0.1 / step), Math.round(0.1 / step)),
    )
    const square = above ? x.square : 2 * x.square
    const [scale, zero] = this.place(square, above)
    const edge = window >> 1,
      y = this.byteValue(scale, zero, square)
    const attributes = {
      dilations: [1, 1],
      group: 1,
      kernel_shape: [window, window],
      pads: [edge, edge, edge, edge],
      strides: [stride, stride],
    }
    y.name = this.op('QLinearConv', [...x.all(), w, scales, zeros, ...y.parameters, bias], attributes)
    return y
  }
}

function resnet18Bytes() {
  const m = new ByteNet('resnet18-int8')
  const input = m.byteValue(Math.fround(4 / 255), 128, 4 / 3)
  input.name = m.op('QuantizeLinear', ['input', ...input.parameters])
  const block = (x, from, to, stride) => {
    const inner = m.byteConv(x, from, to, 3, stride, true)
    const y = m.byteConv(inner, to, to, 3, 1, false)
    const skip = from === to ? x : m.byteConv(x, from, to, 1, stride, false)
    const square = (y.square + skip.square) / 2
    const sum = m.byteValue(...m.place(square, true), square)
    sum.name = m.op('QLinearAdd', [...y.all(), ...skip.all(), ...sum.parameters], {}, { domain: 'com.microsoft' })
    return sum
  }
  let x = m.byteConv(input, 3, 64, 7, 2, true)
  x.name = m.op('MaxPool', [x.name], { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [2, 2] })
  let from = 64
  for (const [to, stride] of [
    [64, 1],
    [128, 2],
    [256, 2],
    [512, 2],
  ]) {
    x = block(block(x, from, to, stride), to, to, 1)
    from = to
  }
  return m.classes(m.op('DequantizeLinear', x.all()), 512)
}

export const networks = {
  minilm: miniLm,
  'bert-base': bertBase,
  resnet18,
  'resnet18-int8': resnet18Bytes,
  mobilenetv2: mobileNetV2,
  crnn,
}
