// Other operators: what optimisers fuse, and bodies.
import { Family } from './family.mjs'
import { Model, integers, real, reals, scalar, tensor } from './onnx.mjs'

function fused() {
  const m = new Family('ms-fused')
  const x = m.floats('x', 2, 3, 8),
    skip = m.floats('skip', 2, 3, 8),
    bias = m.keep('bias', 8)
  const gamma = m.keep('gamma', 8),
    beta = m.keep('beta', 8),
    w = m.keep('w', 5, 8)
  const y = (name) => [name, 'f32', 2, 3, 8]
  m.call('FusedMatMul', [['product', 'f32', 2, 3, 5]], [x, w], { alpha: real(0.5), transB: 1 })
  m.call('FusedMatMul', [['batches', 'f32', 3, 2, 2]], [x, x], { transBatchA: 1, transBatchB: 1, transB: 1 })
  const picture = m.floats('picture', 2, 3, 5, 5),
    taps = m.keep('taps', 4, 3, 3, 3),
    channels = m.keep('channels', 4),
    residual = m.floats('residual', 2, 4, 5, 5)
  const same = { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }
  const conv = (name) => [name, 'f32', 2, 4, 5, 5]
  m.call('FusedConv', [conv('conv_relu')], [picture, taps, channels], { ...same, activation: 'Relu' })
  m.call('FusedConv', [conv('conv_skip')], [picture, taps, null, residual], { ...same, activation: 'Tanh' })
  const clipped = { ...same, activation: 'Clip', activation_params: reals(-0.5, 0.75) }
  m.call('FusedConv', [conv('conv_clip')], [picture, taps], clipped)
  const rows = m.floats('rows', 3, 8)
  const leaky = { transB: 1, alpha: real(0.5), activation: 'LeakyRelu', activation_alpha: real(0.3) }
  m.call('FusedGemm', [['gemm_leaky', 'f32', 3, 5]], [rows, w, m.keep('gemm_bias', 5)], leaky)
  m.call('Gelu', [y('gelu')], [x])
  m.call('BiasGelu', [y('bias_gelu')], [x, bias])
  m.call('FastGelu', [y('fast_gelu')], [x])
  m.call('FastGelu', [y('fast_bias_gelu')], [x, bias])
  m.call('QuickGelu', [y('quick_gelu')], [x], { alpha: real(1.5) })
  m.call('SkipLayerNormalization', [y('skip_norm')], [x, skip, gamma, beta, bias], { epsilon: real(1e-5) })
  m.call('SkipLayerNormalization', [y('skip_sum_norm'), null, null, y('skip_sum')], [x, skip, gamma], {
    epsilon: real(1e-5),
  })
  m.call('SimplifiedLayerNormalization', [y('rms_norm')], [x, gamma], { axis: -1, epsilon: real(1e-5) }, '')
  m.call(
    'SkipSimplifiedLayerNormalization',
    [y('skip_rms'), null, null, y('skip_rms_sum')],
    [x, skip, gamma, bias],
    { epsilon: real(1e-5) },
  )
  return m.done()
}

function embeddings() {
  const m = new Family('ms-embed')
  const ids = m.feed('ids', integers('ids', 'i32', [2, 5], 0, 7)),
    segments = m.feed('segments', integers('segments', 'i32', [2, 5], 0, 2))
  const mask = m.feed('mask', tensor('i32', [2, 5], [1, 1, 1, 0, 0, 1, 1, 1, 1, 0]))
  const places = m.feed('places', integers('places', 'i32', [2, 5], 0, 6))
  const tables = [m.keep('words', 7, 8), m.keep('positions', 6, 8)],
    types = m.keep('types', 2, 8)
  const norm = [m.keep('gamma', 8), m.keep('beta', 8)],
    y = (name) => [name, 'f32', 2, 5, 8]
  const [words, positions] = tables
  m.call(
    'EmbedLayerNormalization',
    [y('whole'), ['lengths', 'i32', 2]],
    [ids, segments, words, positions, types, ...norm, mask],
    { epsilon: real(1e-6), mask_index_type: 1 },
  )
  m.call(
    'EmbedLayerNormalization',
    [y('placed'), ['none', 'i32', 2], y('sum')],
    [ids, null, words, positions, null, ...norm, null, places],
    { epsilon: real(1e-6) },
  )
  return m.done()
}

// Bodies that read what is around them: a branch that data decide, a loop that stops by itself.
function control() {
  const m = new Family('control')
  const x = m.floats('x', 3, 4),
    w = m.keep('w', 4, 4),
    limit = m.feed('limit', scalar(1))
  const body = (name) => new Model(name)
  const then = body('then'),
    otherwise = body('otherwise')
  then.op('MatMul', [x, w], {}, { outputs: [then.output('product', 'f32', [3, 4])] })
  otherwise.op('Relu', [x], {}, { outputs: [otherwise.output('positive', 'f32', [3, 4])] })
  const large = m.op('Greater', [m.op('ReduceSum', [x], { keepdims: 0 }), limit])
  m.call('If', [['branch', 'f32', 3, 4]], [large], { then_branch: then, else_branch: otherwise }, '')
  const step = body('step')
  ;(step.input('i', 'i64', []), step.input('going', 'bool', []), step.input('carried', 'f32', [3, 4]))
  const grown = step.op('Tanh', [step.op('MatMul', ['carried', w])])
  const next = step.op('Add', [grown, step.op('Mul', [x, step.constant(scalar(0.5))])])
  step.op('Less', ['i', step.constant(scalar(3, 'i64'))], {}, { outputs: [step.output('still', 'bool', [])] })
  step.op('Identity', [next], {}, { outputs: [step.output('after', 'f32', [3, 4])] })
  step.op(
    'ReduceSum',
    [next, step.constant(tensor('i64', [1], [0]))],
    { keepdims: 0 },
    { outputs: [step.output('row', 'f32', [4])] },
  )
  const loop = [m.constant(scalar(10, 'i64')), m.constant(scalar(1, 'bool')), x]
  m.call(
    'Loop',
    [
      ['last', 'f32', 3, 4],
      ['rows', 'f32', 'steps', 4],
    ],
    loop,
    { body: step },
    '',
  )
  return m.done()
}

export const operators = { control, 'ms-embed': embeddings, 'ms-fused': fused }
