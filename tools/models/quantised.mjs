// Operators on quantised numbers, each in the ways exporters call it.
import { Family } from './family.mjs'
import { integers, real, scalar, tensor, uniform } from './onnx.mjs'

function matmulNBits() {
  const m = new Family('ms-matmul-n-bits')
  const N = 6,
    type = 'MatMulNBits'
  const way = (name, { K, block_size = 16, bits = 4, zeros, bias, g_idx }) => {
    const blocks = Math.ceil(K / block_size),
      blob = (block_size * bits) / 8
    const x = m.floats(`${name}_x`, 2, 3, K),
      part = (what) => `${name}.${what}`
    const b = m.weight(part('b'), integers(part('b'), 'u8', [N, blocks, blob], 0, 256))
    const scales = m.weight(part('scales'), uniform(part('scales'), [N * blocks], 0.1, 0.2))
    const packed = Math.ceil((blocks * bits) / 8)
    const zero =
      zeros === 'packed'
        ? m.weight(part('zeros'), integers(part('zeros'), 'u8', [N * packed], 0, 256))
        : zeros === 'floats'
          ? m.weight(part('zeros'), uniform(part('zeros'), [N * blocks], 4, 8))
          : null
    const order = g_idx ? m.weight(part('g_idx'), tensor('i32', [K], g_idx)) : null
    m.call(
      type,
      [[name, 'f32', 2, 3, N]],
      [x, b, scales, zero, order, bias ? m.keep(part('bias'), N) : null],
      { K, N, bits, block_size },
    )
  }
  way('four', { K: 32 })
  way('four_zeros', { K: 48, zeros: 'packed', bias: true })
  way('four_floats', { K: 32, block_size: 32, zeros: 'floats' })
  way('four_uneven', { K: 40, zeros: 'packed' })
  way('eight', { K: 32, bits: 8 })
  way('eight_zeros', { K: 64, block_size: 32, bits: 8, zeros: 'packed' })
  way('two', { K: 32, bits: 2, zeros: 'packed' })
  return m.done()
}

function quantised() {
  const m = new Family('ms-quantised')
  const x = m.floats('x', 2, 3, 8),
    bytes = m.feed('bytes', integers('bytes', 'u8', [2, 3, 8], 0, 256))
  const w = m.weight('w', integers('w', 'i8', [8, 5], -128, 128)),
    u = m.weight('u', integers('u', 'u8', [8, 5], 0, 256))
  const scale = m.constant(scalar(0.02)),
    columns = m.weight('columns', uniform('columns', [5], 0.01, 0.02))
  const zero = m.constant(scalar(3, 'i8')),
    zeros = m.weight('zeros', integers('zeros', 'u8', [5], 100, 150)),
    bias = m.keep('bias', 5)
  const y = (name) => [name, 'f32', 2, 3, 5]
  m.call('DynamicQuantizeMatMul', [y('dynamic')], [x, w, scale])
  m.call('DynamicQuantizeMatMul', [y('dynamic_columns')], [x, u, columns, zeros, bias])
  m.call(
    'MatMulIntegerToFloat',
    [y('to_float')],
    [bytes, w, scale, scale, m.constant(scalar(120, 'u8')), zero],
  )
  m.call(
    'MatMulIntegerToFloat',
    [y('to_float_columns')],
    [bytes, u, scale, columns, m.constant(scalar(7, 'u8')), zeros, bias],
  )
  const flat = m.feed('flat', integers('flat', 'u8', [3, 8], 0, 256)),
    turned = m.weight('turned', integers('turned', 'i8', [5, 8], -128, 128)),
    whole = m.weight('whole', integers('whole', 'i32', [5], -500, 500))
  const product = [
    flat,
    scale,
    m.constant(scalar(120, 'u8')),
    turned,
    columns,
    m.constant(tensor('i8', [5], [0, 0, 0, 0, 0])),
  ]
  m.call('QGemm', [['gemm', 'f32', 3, 5]], [...product, whole], { transB: 1, alpha: real(0.75) })
  const onto = [m.constant(scalar(0.037)), m.constant(scalar(131, 'u8'))]
  m.call('QGemm', [['gemm_bytes', 'u8', 3, 5]], [...product, whole, ...onto], { transB: 1 })
  return m.done()
}

// What the quantiser of onnxruntime leaves between convolutions.
function between() {
  const m = new Family('ms-between-bytes')
  const dims = [2, 3, 4, 4],
    x = m.feed('x', integers('between.x', 'u8', dims, 0, 256)),
    y = m.feed('y', integers('between.y', 'u8', dims, 0, 256))
  const scale = (value) => m.constant(scalar(value)),
    zero = (value) => m.constant(scalar(value, 'u8'))
  // Scales that bring no sum halfway between two bytes, where the order of operations would decide.
  const a = [x, scale(0.0213), zero(117)],
    b = [y, scale(0.0347), zero(140)]
  const bytes = (name, ...shape) => [name, 'u8', ...shape]
  m.call('QLinearAdd', [bytes('sum', ...dims)], [...a, ...b, scale(0.0519), zero(128)])
  m.call('QLinearMul', [bytes('product', ...dims)], [...a, ...b, scale(0.09), zero(120)])
  m.call('QLinearSigmoid', [bytes('sigmoid', ...dims)], [...a, scale(1 / 256), zero(0)])
  m.call('QLinearLeakyRelu', [bytes('leaky', ...dims)], [...a, scale(0.017), zero(20)], { alpha: real(0.2) })
  m.call('QLinearSoftmax', [bytes('softmax', ...dims)], [...a, scale(1 / 256), zero(0)], {
    axis: -1,
    opset: 13,
  })
  m.call('QLinearGlobalAveragePool', [bytes('mean', 2, 3, 1, 1)], [...a, scale(0.01), zero(128)], {
    channels_last: 0,
  })
  m.call('QLinearConcat', [bytes('joined', 2, 6, 4, 4)], [scale(0.04), zero(130), ...a, ...b], { axis: 1 })
  const floats = m.floats('floats', 2, 3, 4)
  const scales = m.weight('scales', uniform('between.scales', [3], 0.004, 0.01)),
    zeros = m.weight('zeros', integers('between.zeros', 'u8', [3], 100, 156))
  m.call('QuantizeLinear', [bytes('rounded', 2, 3, 4)], [floats, scales, zeros], { axis: 1 })
  m.call('DequantizeLinear', [['back', 'f32', 2, 3, 4]], ['rounded', scales, zeros], { axis: 1 })
  return m.done()
}

// Weights of bytes beside the floats they stand for, [D, 4H, I] in ONNX's LSTM. onnxruntime rounds x
// and the state to bytes as well; the reference is the net that does not.
function quantisedLstm(exact = false) {
  const m = new Family('ms-lstm')
  const batch = 2,
    hidden = 4,
    inputs = 5,
    directions = 2,
    columns = 4 * hidden
  const x = m.floats('x', 3, batch, inputs),
    lengths = m.feed('lengths', tensor('i32', [batch], [3, 2]))
  const states = [m.floats('h', directions, batch, hidden), m.floats('c', directions, batch, hidden)]
  const bias = m.keep('bias', directions, 2 * columns)
  const weights = (name, rows, perColumn) => {
    const bytes = integers(name, 'i8', [directions, rows, columns], -128, 128),
      extents = perColumn ? [directions, columns] : [directions]
    const scale = uniform(`${name}.scale`, extents, 0.002, 0.006),
      zero = integers(`${name}.zero`, 'i8', extents, ...(perColumn ? [0, 1] : [-3, 4]))
    if (!exact)
      return [m.weight(name, bytes), m.weight(`${name}.scale`, scale), m.weight(`${name}.zero`, zero)]
    const floats = new Float32Array(directions * columns * rows)
    for (let d = 0; d < directions; ++d)
      for (let c = 0; c < columns; ++c)
        for (let k = 0; k < rows; ++k) {
          const at = perColumn ? d * columns + c : d
          floats[(d * columns + c) * rows + k] =
            (bytes.data[(d * rows + k) * columns + c] - zero.data[at]) * scale.data[at]
        }
    return [m.weight(name, { dtype: 'f32', dims: [directions, columns, rows], data: floats })]
  }
  const [w, ...ofW] = weights('w', inputs, false),
    [r, ...ofR] = weights('r', hidden, true)
  const outputs = [
    ['y', 'f32', 3, directions, batch, hidden],
    ['last_h', 'f32', directions, batch, hidden],
    ['last_c', 'f32', directions, batch, hidden],
  ]
  const operands = [x, w, r, bias, lengths, ...states, null],
    attributes = { direction: 'bidirectional', hidden_size: hidden }
  if (exact) m.call('LSTM', outputs, operands, attributes, '')
  else m.call('DynamicQuantizeLSTM', outputs, [...operands, ...ofW, ...ofR], attributes)
  return { ...m.done(), reference: exact ? undefined : quantisedLstm(true).model }
}

export const quantisedOperators = {
  'ms-between-bytes': between,
  'ms-lstm': quantisedLstm,
  'ms-matmul-n-bits': matmulNBits,
  'ms-quantised': quantised,
}
