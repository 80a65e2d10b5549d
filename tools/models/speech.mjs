// usage: node speech.mjs [OUT.wav]
//
// Writes examples/speech.wav: two sentences spoken by espeak-ng, with quiet before, between and after,
// 16 kHz, mono. What is committed was made with espeak-ng 1.51.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readWav } from './wav.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const rate = 16000
const sentences = ['Hello, how are you today?', 'I am looking for the train station.']
const quiet = [0.8, 1.0, 0.6] // seconds before, between and after

// A windowed sinc, cut where the lower of the two rates ends.
function resample({ rate: from, samples }) {
  const cut = Math.min(1, rate / from) * 0.95,
    reach = 32
  return Float32Array.from({ length: Math.floor((samples.length * rate) / from) }, (_, i) => {
    const at = (i * from) / rate
    let sum = 0
    for (let k = Math.ceil(at - reach); k <= at + reach; ++k) {
      const t = k - at
      const sinc = t === 0 ? cut : Math.sin(Math.PI * cut * t) / (Math.PI * t)
      sum += (samples[k] ?? 0) * sinc * 0.5 * (1 + Math.cos((Math.PI * t) / reach))
    }
    return sum
  })
}

const folder = mkdtempSync(join(tmpdir(), 'rlx-speech-'))
const spoken = sentences.map((sentence, i) => {
  const file = join(folder, `${i}.wav`)
  execFileSync('espeak-ng', ['-v', 'en-us+f3', '-s', '140', '-w', file, sentence])
  return resample(readWav(readFileSync(file)))
})
rmSync(folder, { recursive: true })

// Quiet is never silent: a few units of noise, the same every time.
let seed = 1
const noise = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648 - 0.5) * 16
const pause = (seconds) => new Float32Array(seconds * rate)
const parts = [pause(quiet[0]), spoken[0], pause(quiet[1]), spoken[1], pause(quiet[2])]
const samples = parts.flatMap((part) => Array.from(part))
const wav = Buffer.alloc(44 + 2 * samples.length)
wav.write('RIFF', 0)
wav.writeUInt32LE(36 + 2 * samples.length, 4)
wav.write('WAVEfmt ', 8)
wav.writeUInt32LE(16, 16)
wav.writeUInt16LE(1, 20) // PCM
wav.writeUInt16LE(1, 22)
wav.writeUInt32LE(rate, 24)
wav.writeUInt32LE(2 * rate, 28)
wav.writeUInt16LE(2, 32)
wav.writeUInt16LE(16, 34)
wav.write('data', 36)
wav.writeUInt32LE(2 * samples.length, 40)
samples.forEach((x, i) =>
  wav.writeInt16LE(Math.max(-32768, Math.min(32767, Math.round(x * 32767 * 0.7 + noise()))), 44 + 2 * i),
)
writeFileSync(process.argv[2] ?? join(root, 'examples', 'speech.wav'), wav)
