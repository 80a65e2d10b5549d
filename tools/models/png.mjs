// A PNG file of 8 bits a channel, not interlaced: its size, and a function for the colours between pixels.
import { inflateSync } from 'node:zlib'

export function readPng(file) {
  const width = file.readUInt32BE(16),
    height = file.readUInt32BE(20),
    channels = { 2: 3, 6: 4 }[file[25]]
  const parts = []
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at))
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)))
  const raw = inflateSync(Buffer.concat(parts)),
    row = width * channels
  const pixels = new Uint8Array(height * row)
  for (let y = 0; y < height; ++y) {
    const filter = raw[y * (row + 1)]
    for (let i = 0; i < row; ++i) {
      const at = y * row + i
      const left = i < channels ? 0 : pixels[at - channels],
        up = y ? pixels[at - row] : 0,
        corner = y && i >= channels ? pixels[at - row - channels] : 0
      const guess = left + up - corner
      const [dl, du, dc] = [left, up, corner].map((x) => Math.abs(guess - x))
      const paeth = dl <= du && dl <= dc ? left : du <= dc ? up : corner
      pixels[at] = raw[y * (row + 1) + 1 + i] + [0, left, up, (left + up) >> 1, paeth][filter]
    }
  }
  const clamp = (x, most) => Math.max(0, Math.min(most, x))
  const at = (x, y, channel) => {
    x = clamp(x, width - 1)
    y = clamp(y, height - 1)
    const [left, top] = [Math.floor(x), Math.floor(y)],
      [dx, dy] = [x - left, y - top]
    const pixel = (px, py) =>
      pixels[Math.min(py, height - 1) * row + Math.min(px, width - 1) * channels + channel]
    return (
      (pixel(left, top) * (1 - dx) + pixel(left + 1, top) * dx) * (1 - dy) +
      (pixel(left, top + 1) * (1 - dx) + pixel(left + 1, top + 1) * dx) * dy
    )
  }
  return { width, height, at }
}
