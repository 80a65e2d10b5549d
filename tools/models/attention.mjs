// Operators of attention, each in the ways exporters call it.
import { Family } from './family.mjs'
import { integers, real, scalar, tensor, uniform } from './onnx.mjs'

const heads = 2,
  size = 4,
  width = heads * size,
  batch = 2,
  length = 3

function attention() {
  const m = new Family('ms-attention')
  const x = m.floats('x', batch, length, 6),
    w = m.keep('w', 6, 3 * width),
    bias = m.keep('bias', 3 * width)
  const wide = m.keep('wide', 6, 2 * width + 12),
    wideBias = m.keep('wide_bias', 2 * width + 12)
  const past = m.floats('past', 2, batch, heads, 2, size)
  const lengths = m.feed('lengths', tensor('i32', [batch], [2, 3])),
    ends = m.feed('ends', tensor('i32', [2 * batch], [3, 2, 1, 0]))
  const seen = m.feed('seen', tensor('i32', [batch, length], [1, 0, 1, 1, 1, 0]))
  const seenLater = m.feed('seen_later', tensor('i32', [batch, length + 2], [0, 1, 1, 1, 1, 1, 1, 1, 0, 1]))
  const square = m.feed('square', integers('square', 'i32', [batch, length, length], 0, 2))
  const added = m.floats('added', 1, heads, length, length)
  const y = (name, last = width) => [name, 'f32', batch, length, last],
    num_heads = heads
  m.call('Attention', [y('plain')], [x, w, bias], { num_heads })
  m.call('Attention', [y('scaled')], [x, w, bias], { num_heads, scale: real(0.3) })
  m.call('Attention', [y('causal')], [x, w, bias], { num_heads, unidirectional: 1 })
  m.call('Attention', [y('by_length')], [x, w, bias, lengths], { num_heads })
  m.call('Attention', [y('by_ends')], [x, w, bias, ends], { num_heads })
  m.call('Attention', [y('by_key')], [x, w, bias, seen], { num_heads })
  m.call('Attention', [y('by_key_causal')], [x, w, bias, seen], {
    num_heads,
    unidirectional: 1,
    mask_filter_value: real(-5),
  })
  m.call('Attention', [y('by_query')], [x, w, bias, square], { num_heads })
  m.call('Attention', [y('added_scores')], [x, w, bias, null, null, added], { num_heads })
  m.call('Attention', [y('unequal', 12)], [x, wide, wideBias], {
    num_heads,
    qkv_hidden_sizes: [width, width, 12],
  })
  m.call(
    'Attention',
    [y('later'), ['present', 'f32', 2, batch, heads, length + 2, size]],
    [x, w, bias, null, past],
    { num_heads, unidirectional: 1 },
  )
  m.call(
    'Attention',
    [y('later_masked'), ['present_masked', 'f32', 2, batch, heads, length + 2, size]],
    [x, w, bias, seenLater, past],
    { num_heads },
  )
  return m.done()
}

function multiHeadAttention() {
  const m = new Family('ms-multi-head-attention')
  const q = m.floats('q', batch, length, width),
    k = m.floats('k', batch, 5, width),
    v = m.floats('v', batch, 5, 6)
  const own = [m.floats('own_k', batch, length, width), m.floats('own_v', batch, length, width)]
  const cross = [m.floats('cross_k', batch, heads, 5, size), m.floats('cross_v', batch, heads, 5, size)]
  const bias = m.keep('bias', 2 * width + 6),
    ownBias = m.keep('own_bias', 3 * width)
  const past = [m.floats('past_k', batch, heads, 2, size), m.floats('past_v', batch, heads, 2, size)]
  const seen = m.feed('seen', tensor('i32', [batch, 5], [1, 0, 1, 1, 0, 1, 1, 1, 0, 0]))
  const lengths = m.feed('lengths', tensor('i32', [batch], [2, 5])),
    added = m.floats('added', batch, 1, length, 5)
  const square = m.feed('square', integers('square', 'i32', [batch, length, 5], 0, 2))
  const y = (name, last = width) => [name, 'f32', batch, length, last],
    num_heads = heads
  const present = (name) => [name, 'f32', batch, heads, 5, size],
    type = 'MultiHeadAttention'
  m.call(type, [y('plain')], [q, ...own], { num_heads })
  m.call(type, [y('biased', 6)], [q, k, v, bias], { num_heads })
  m.call(type, [y('by_key', 6)], [q, k, v, bias, seen], { num_heads, mask_filter_value: real(-7) })
  m.call(type, [y('by_length', 6)], [q, k, v, bias, lengths], { num_heads })
  m.call(type, [y('by_query', 6)], [q, k, v, null, square], { num_heads })
  m.call(type, [y('added_scores', 6)], [q, k, v, null, null, added], { num_heads, scale: real(0.7) })
  m.call(type, [y('causal')], [q, ...own], { num_heads, unidirectional: 1 })
  m.call(type, [y('parted')], [q, ...cross], { num_heads })
  m.call(
    type,
    [y('later'), present('present_k'), present('present_v')],
    [q, ...own, ownBias, null, null, ...past],
    { num_heads, unidirectional: 1 },
  )
  m.call(
    type,
    [y('later_masked'), present('masked_k'), present('masked_v')],
    [q, ...own, null, seen, added, ...past],
    { num_heads },
  )
  return m.done()
}

function groupQueryAttention() {
  const m = new Family('ms-group-query-attention')
  const num_heads = 4,
    kv_num_heads = 2,
    of = 16,
    most = 9,
    type = 'GroupQueryAttention'
  const q = m.floats('q', batch, length, num_heads * of),
    k = m.floats('k', batch, length, kv_num_heads * of),
    v = m.floats('v', batch, length, kv_num_heads * of)
  const one = [
    m.floats('one_q', batch, 1, num_heads * of),
    m.floats('one_k', batch, 1, kv_num_heads * of),
    m.floats('one_v', batch, 1, kv_num_heads * of),
  ]
  const packed = m.floats('packed', batch, length, (num_heads + 2 * kv_num_heads) * of)
  const nothing = [m.floats('no_k', batch, kv_num_heads, 0, of), m.floats('no_v', batch, kv_num_heads, 0, of)]
  const past = [
    m.floats('past_k', batch, kv_num_heads, 4, of),
    m.floats('past_v', batch, kv_num_heads, 4, of),
  ]
  const cosines = m.weight(
    'cos',
    tensor(
      'f32',
      [most, of / 2],
      Array.from({ length: (most * of) / 2 }, (_, i) => Math.cos((i >> 3) / 3 ** (i & 7))),
    ),
  )
  const sines = m.weight(
    'sin',
    tensor(
      'f32',
      [most, of / 2],
      Array.from({ length: (most * of) / 2 }, (_, i) => Math.sin((i >> 3) / 3 ** (i & 7))),
    ),
  )
  const last = (...numbers) => m.constant(tensor('i32', [batch], numbers)),
    total = (n) => m.constant(scalar(n, 'i32'))
  const fedLast = m.feed('last', tensor('i32', [batch], [4, 2]))
  const y = (name, rows = length) => [name, 'f32', batch, rows, num_heads * of]
  const all = (name, rows, kept) => [
    y(name, rows),
    [`${name}_k`, 'f32', batch, kv_num_heads, kept, of],
    [`${name}_v`, 'f32', batch, kv_num_heads, kept, of],
  ]
  const prompt = [last(length - 1, length - 1), total(length)],
    next = [last(4, 4), total(5)],
    tables = [cosines, sines]
  const options = { num_heads, kv_num_heads }
  m.call(type, all('prompt', length, length), [q, k, v, ...nothing, ...prompt], options)
  m.call(type, all('turned', length, length), [q, k, v, ...nothing, ...prompt, ...tables], {
    ...options,
    do_rotary: 1,
  })
  m.call(type, all('interleaved', length, length), [q, k, v, ...nothing, ...prompt, ...tables], {
    ...options,
    do_rotary: 1,
    rotary_interleaved: 1,
    scale: real(0.4),
  })
  m.call(type, all('packed_qkv', length, length), [packed, null, null, ...nothing, ...prompt, ...tables], {
    ...options,
    do_rotary: 1,
  })
  m.call(type, all('capped', length, length), [q, k, v, ...nothing, ...prompt], {
    ...options,
    softcap: real(0.5),
  })
  m.call(type, all('window', length, length), [q, k, v, ...nothing, ...prompt], {
    ...options,
    local_window_size: 2,
  })
  m.call(type, all('next', 1, 5), [...one, ...past, ...next], options)
  m.call(type, all('next_turned', 1, 5), [...one, ...past, ...next, ...tables], { ...options, do_rotary: 1 })
  m.call(type, all('next_window', 1, 5), [...one, ...past, ...next], { ...options, local_window_size: 2 })
  const alone = [
    m.floats('alone_q', 1, length, num_heads * of),
    m.floats('alone_k', 1, length, kv_num_heads * of),
    m.floats('alone_v', 1, length, kv_num_heads * of),
  ]
  const before = [m.floats('before_k', 1, kv_num_heads, 4, of), m.floats('before_v', 1, kv_num_heads, 4, of)]
  m.call(
    type,
    [
      ['several', 'f32', 1, length, num_heads * of],
      ['several_k', 'f32', 1, kv_num_heads, 7, of],
      ['several_v', 'f32', 1, kv_num_heads, 7, of],
    ],
    [...alone, ...before, m.constant(tensor('i32', [1], [6])), total(7), ...tables],
    { ...options, do_rotary: 1, local_window_size: 3 },
  )
  m.call(type, all('smooth', length, length), [q, k, v, ...nothing, ...prompt], {
    ...options,
    smooth_softmax: 1,
  })
  const sinks = m.keep('sinks', num_heads),
    added = m.floats('added', 1, 1, 1, 5)
  m.call(type, all('sink', 1, 5), [...one, ...past, ...next, ...tables, null, null, sinks], {
    ...options,
    do_rotary: 1,
    local_window_size: 3,
  })
  m.call(type, all('added_scores', 1, 5), [...one, ...past, ...next, null, null, null, added], options)
  // A cache with room for more than it holds.
  const room = [
    m.floats('room_k', batch, kv_num_heads, 7, of),
    m.floats('room_v', batch, kv_num_heads, 7, of),
  ]
  m.call(type, [y('roomy'), 'roomy_k', 'roomy_v'], [q, k, v, ...room, ...prompt, ...tables], {
    ...options,
    do_rotary: 1,
  })
  m.call(type, [y('roomy_next', 1), 'roomy_next_k', 'roomy_next_v'], [...one, ...room, ...next, ...tables], {
    ...options,
    do_rotary: 1,
  })
  // What lies behind the keys of the shorter batch is nobody's business.
  m.call(
    type,
    [y('shorter', 1), 'shorter_k', 'shorter_v'],
    [...one, ...past, fedLast, m.feed('total', scalar(5, 'i32')), ...tables],
    { ...options, do_rotary: 1 },
  )
  return m.done()
}

// A decoder's layer as exporters write it: every extent a symbol, lengths from the attention mask. A
// prompt and the token after it, of which the second batch has seen less.
function decoder(name, past, mask) {
  const m = new Family(name)
  const num_heads = 4,
    kv_num_heads = 2,
    of = 16,
    inner = 8,
    [rows, total] = [mask.length, mask[0].length]
  const feed = (input, dims, t) => {
    m.given[input] = t
    return m.input(input, t.dtype, dims)
  }
  const x = feed('x', ['batch', 'sequence', inner], uniform(`${name}.x`, [rows, total - past, inner]))
  const seen = feed('attention_mask', ['batch', 'total'], tensor('i64', [rows, total], mask.flat()))
  const cache = (what) =>
    feed(
      what,
      ['batch', kv_num_heads, 'past', of],
      uniform(`${name}.${what}`, [rows, kv_num_heads, past, of]),
    )
  const part = (what, count) => m.op('MatMul', [x, m.weight(what, uniform(what, [inner, count * of]))])
  const one = m.constant(tensor('i64', [1], [1])),
    narrow = (v) => m.op('Cast', [v], { to: 6 })
  const last = narrow(m.op('Sub', [m.op('ReduceSum', [seen, one], { keepdims: 0 }), one]))
  const all = narrow(m.op('Gather', [m.op('Shape', [seen]), m.constant(scalar(1, 'i64'))], { axis: 0 }))
  const table = (what) => m.weight(what, uniform(what, [16, of / 2]))
  const outputs = [
    ['y', 'f32', 'batch', 'sequence', num_heads * of],
    ...['k', 'v'].map((n) => (rows > 1 ? n : [n, 'f32', 'batch', kv_num_heads, 'total', of])),
  ]
  m.call(
    'GroupQueryAttention',
    outputs,
    [
      part('wq', num_heads),
      part('wk', kv_num_heads),
      part('wv', kv_num_heads),
      cache('past_k'),
      cache('past_v'),
      last,
      all,
      table('cos'),
      table('sin'),
    ],
    { num_heads, kv_num_heads, do_rotary: 1 },
  )
  return m.done()
}

function rotary() {
  const m = new Family('ms-rotary')
  const flat = m.floats('flat', batch, length, width),
    parted = m.floats('parted', batch, heads, length, 6)
  const from = m.feed('from', tensor('i64', [1], [2])),
    places = m.feed('places', tensor('i64', [batch, length], [0, 3, 1, 5, 2, 2]))
  const tables = [m.keep('cos', 7, size / 2), m.keep('sin', 7, size / 2)]
  const type = 'RotaryEmbedding',
    y = (name) => [name, 'f32', batch, length, width],
    z = (name) => [name, 'f32', batch, heads, length, 6]
  m.call(type, [y('from_two')], [flat, from, ...tables])
  m.call(type, [y('at_places')], [flat, places, ...tables])
  m.call(type, [y('neighbours')], [flat, places, ...tables], { interleaved: 1 })
  m.call(type, [z('partly')], [parted, places, ...tables], { rotary_embedding_dim: 4, num_heads: heads })
  m.call(type, [y('partly_flat')], [flat, places, m.keep('cos1', 7, 1), m.keep('sin1', 7, 1)], {
    rotary_embedding_dim: 2,
    num_heads: heads,
  })
  return m.done()
}

function onnxTransformer() {
  const m = new Family('onnx-transformer', 23)
  const q = m.floats('q', batch, length, width),
    k = m.floats('k', batch, 5, width),
    v = m.floats('v', batch, 5, 6)
  const parted = [
    m.floats('parted_q', batch, 4, length, size),
    m.floats('parted_k', batch, heads, length, size),
    m.floats('parted_v', batch, heads, length, size),
  ]
  const past = [m.floats('past_k', batch, heads, 2, size), m.floats('past_v', batch, heads, 2, size)]
  const added = m.floats('added', length, 5),
    seen = m.feed(
      'seen',
      tensor(
        'bool',
        [batch, 1, length, 5],
        Array.from({ length: 30 }, (_, i) => (i % 3 ? 1 : 0)),
      ),
    )
  const y = (name) => [name, 'f32', batch, length, 6],
    z = (name) => [name, 'f32', batch, 4, length, size]
  const present = (name) => [name, 'f32', batch, heads, 5, size],
    options = { q_num_heads: heads, kv_num_heads: heads }
  const call = (type, outputs, inputs, attributes) => m.call(type, outputs, inputs, attributes, '')
  call('Attention', [y('plain')], [q, k, v], options)
  call('Attention', [y('added_scores')], [q, k, v, added], { ...options, scale: real(0.4) })
  call('Attention', [y('masked')], [q, k, v, seen], options)
  call('Attention', [y('causal')], [q, k, v], { ...options, is_causal: 1 })
  call('Attention', [y('capped')], [q, k, v], { ...options, softcap: real(0.5) })
  call('Attention', [y('capped_scores')], [q, k, v, added], { ...options, softcap: real(0.5) })
  call('Attention', [z('grouped')], parted, { is_causal: 1 })
  call('Attention', [z('later'), present('present_k'), present('present_v')], [...parted, null, ...past], {
    is_causal: 1,
  })
  const tables = [m.keep('cos', 7, 2), m.keep('sin', 7, 2)],
    places = m.feed('places', tensor('i64', [batch, length], [0, 3, 1, 5, 2, 2]))
  call('RotaryEmbedding', [['turned', 'f32', batch, length, width]], [q, ...tables, places], {
    num_heads: heads,
  })
  call(
    'RotaryEmbedding',
    [z('neighbours')],
    [parted[0], m.keep('cos3', batch, length, 2), m.keep('sin3', batch, length, 2)],
    { interleaved: 1 },
  )
  call('RMSNormalization', [z('rms_norm')], [parted[0], m.keep('gamma', size)], { epsilon: real(1e-4) })
  return m.done()
}

export const attentions = {
  'ms-attention': attention,
  'ms-decoder-next': () =>
    decoder('ms-decoder-next', 4, [
      [1, 1, 1, 1, 1],
      [1, 1, 1, 0, 0],
    ]),
  'ms-decoder-prompt': () => decoder('ms-decoder-prompt', 0, [[1, 1, 1, 1]]),
  'ms-group-query-attention': groupQueryAttention,
  'ms-multi-head-attention': multiHeadAttention,
  'ms-rotary': rotary,
  'onnx-transformer': onnxTransformer,
}
