// A WAV file of 16-bit samples, mono: its rate, and the samples from -1 to 1.
export function readWav(file) {
  let rate = 0
  for (let at = 12; at + 8 <= file.length; ) {
    const kind = file.toString('latin1', at, at + 4),
      bytes = Math.min(file.readUInt32LE(at + 4), file.length - at - 8)
    if (kind === 'fmt ') rate = file.readUInt32LE(at + 12)
    if (kind === 'data')
      return {
        rate,
        samples: Float32Array.from(
          { length: bytes >> 1 },
          (_, i) => file.readInt16LE(at + 8 + 2 * i) / 32768,
        ),
      }
    at += 8 + bytes + (bytes & 1)
  }
  throw new Error('a WAV file without samples')
}
