// Scenes of Gaussians from .spz files: 20 bytes each, packed by zlib (versions 2 and 3) or zstd
// (4). CMake says by RLX_HAVE_ZLIB and RLX_HAVE_ZSTD which of them there is.
#pragma once

#include <string>

#include "splat_file.h"
#ifdef RLX_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef RLX_HAVE_ZSTD
#include <zstd.h>
#endif

namespace splat_files {

constexpr size_t kSpzHeader = 16;

struct SpzHeader {
  uint32_t version = 0, count = 0;
  uint8_t degree = 0, fraction_bits = 0;

  SpzHeader(const std::string& bytes, const std::string& file) {
    if (bytes.size() < kSpzHeader || bytes.compare(0, 4, "NGSP") != 0)
      refuse(file, "it is no .spz file");
    std::memcpy(&version, bytes.data() + 4, 4), std::memcpy(&count, bytes.data() + 8, 4);
    std::memcpy(&degree, bytes.data() + 12, 1), std::memcpy(&fraction_bits, bytes.data() + 13, 1);
    if (version < 2 || version > 4)
      refuse(file, "it is a .spz of version " + std::to_string(version) + "; 2 to 4 can be read");
    if (degree > 3 || fraction_bits > 30)
      refuse(file, "its header is no .spz header: harmonics of degree " + std::to_string(degree) +
                       ", " + std::to_string(fraction_bits) + " bits behind the point");
  }
  size_t harmonics() const { return size_t(degree + 1) * size_t(degree + 1); }
  // Of places, opacities, colours, sizes, rotations and the harmonics behind the first.
  std::vector<size_t> bytes_of_each() const {
    return {9, 1, 3, 3, version < 3 ? size_t{3} : size_t{4}, 3 * (harmonics() - 1)};
  }
};

struct SpzParts {
  SpzHeader header;
  std::vector<std::string> parts;
};

// A few bytes can claim to be very many: what no packing reaches is refused before there is memory
// for it.
inline void check_unpacked(const std::string& file, size_t packed, size_t unpacked) {
  if (unpacked / 2000 > packed)
    refuse(file, "it is too short for the " + std::to_string(unpacked) + " bytes it claims to be");
}

// The parts of versions 2 and 3 lie one behind the other, header included.
inline SpzParts unpack_gzip([[maybe_unused]] const std::string& bytes, const std::string& file) {
#ifdef RLX_HAVE_ZLIB
  struct Stream : z_stream {
    Stream() : z_stream() {}
    ~Stream() { inflateEnd(this); }
  } stream;
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) refuse(file, "zlib does not start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  if (stream.avail_in != bytes.size()) refuse(file, "it is longer than zlib takes at once");
  const auto next = [&](size_t size) {
    std::string part(size, 0);
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(size);
    if (stream.avail_out != size) refuse(file, "a part of it is longer than zlib takes at once");
    while (stream.avail_out > 0)
      if (const int code = inflate(&stream, Z_NO_FLUSH);
          code != Z_OK && !(code == Z_STREAM_END && stream.avail_out == 0))
        refuse(file, "it is not what zlib writes, or shorter than its header says");
    return part;
  };
  const SpzHeader header(next(kSpzHeader), file);
  if (header.version > 3) refuse(file, "a .spz of version 4 is not packed by zlib");
  std::vector<std::string> parts;
  for (const size_t each : header.bytes_of_each()) {
    check_unpacked(file, bytes.size(), each * header.count);
    parts.push_back(next(each * header.count));
  }
  return {header, parts};
#else
  refuse(file, "it is packed by zlib, which was not there when this program was built");
#endif
}

// Version 4: where the table of parts begins, sizes of each packed and unpacked, then the parts.
inline SpzParts unpack_zstd(const std::string& bytes, const std::string& file) {
  const SpzHeader header(bytes, file);
  if (header.version != 4) refuse(file, "only version 4 of .spz is not packed as a whole");
#ifdef RLX_HAVE_ZSTD
  const auto number = [&](size_t at, size_t size) {
    if (at > bytes.size() || size > bytes.size() - at)
      refuse(file, "it ends in its table of parts");
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
  };
  const auto count = static_cast<size_t>(number(15, 1));
  const auto table = static_cast<size_t>(number(16, 4));
  size_t at = table + 16 * count;
  std::vector<std::string> parts;
  for (const size_t each : header.bytes_of_each()) {
    const size_t size = each * header.count;
    if (parts.size() >= count && size > 0) refuse(file, "parts are missing in it");
    parts.emplace_back();
    if (parts.size() > count) continue;
    const size_t row = table + 16 * (parts.size() - 1);
    const uint64_t packed = number(row, 8), unpacked = number(row + 8, 8);
    if (at > bytes.size() || packed > bytes.size() - at || unpacked != size)
      refuse(file, "part " + std::to_string(parts.size()) + " has not the size that " +
                       std::to_string(header.count) + " Gaussians have");
    check_unpacked(file, static_cast<size_t>(packed), size);
    parts.back().resize(size);
    const size_t made =
        ZSTD_decompress(parts.back().data(), size, bytes.data() + at, static_cast<size_t>(packed));
    if (made != size)
      refuse(file, "part " + std::to_string(parts.size()) + " is not what zstd writes");
    at += static_cast<size_t>(packed);
  }
  return {header, parts};
#else
  refuse(file, "it is packed by zstd, which was not there when this program was built");
#endif
}

// .spz has y up and z to the back; other files, and what draws them, have both the other way.
inline SplatFile read_spz(const std::string& bytes, const std::string& file) {
  const auto& [header, parts] =
      bytes[0] == 'N' ? unpack_zstd(bytes, file) : unpack_gzip(bytes, file);
  // Harmonics with an odd number of y and z in their formula change their sign.
  constexpr bool kTurned[16] = {false, true, true,  false, true, false, false, true,
                                false, true, false, true,  true, false, true,  false};
  constexpr float kTurn[3] = {1, -1, -1};
  SplatFile scene;
  scene.count = header.count;
  scene.harmonics = static_cast<int64_t>(header.harmonics());
  scene.reserve();
  const auto byte = [&parts = parts](size_t part, size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(parts[part][i]));
  };
  const auto number = [&](size_t part, size_t i) { return static_cast<float>(byte(part, i)); };
  const float unit = std::ldexp(1.0f, -static_cast<int>(header.fraction_bits));
  for (size_t n = 0; n < header.count; ++n) {
    for (size_t i = 0; i < 3; ++i) {
      const size_t at = 3 * n + i;
      int32_t place = static_cast<int32_t>(byte(0, 3 * at) | byte(0, 3 * at + 1) << 8 |
                                           byte(0, 3 * at + 2) << 16);
      if (place >= 1 << 23) place -= 1 << 24;
      scene.position[at] = kTurn[i] * static_cast<float>(place) * unit;
      scene.log_scale[at] = number(3, at) / 16 - 10;
      scene.colour[header.harmonics() * 3 * n + i] = (number(2, at) / 255 - 0.5f) / 0.15f;
    }
    scene.opacity[n] = logit(number(1, n) / 255);
    float q[4], squares = 0;  // x, y, z, w
    size_t rest = 3;          // the part that the others tell
    if (header.version < 3) {
      for (size_t i = 0; i < 3; ++i) q[i] = number(4, 3 * n + i) / 127.5f - 1;
    } else {
      uint32_t word = byte(4, 4 * n) | byte(4, 4 * n + 1) << 8 | byte(4, 4 * n + 2) << 16 |
                      byte(4, 4 * n + 3) << 24;
      rest = word >> 30;
      for (size_t i = 4; i-- > 0;) {
        if (i == rest) continue;
        const float size = static_cast<float>(word & 511) / 511 * std::sqrt(0.5f);
        q[i] = word & 512 ? -size : size;
        word >>= 10;
      }
    }
    for (size_t i = 0; i < 4; ++i)
      if (i != rest) squares += q[i] * q[i];
    q[rest] = std::sqrt(std::max(0.0f, 1 - squares));
    scene.rotation[4 * n] = q[3];
    for (size_t i = 0; i < 3; ++i) scene.rotation[4 * n + 1 + i] = kTurn[i] * q[i];
    for (size_t k = 1; k < header.harmonics(); ++k)
      for (size_t c = 0; c < 3; ++c) {
        const float value = (number(5, 3 * ((header.harmonics() - 1) * n + k - 1) + c) - 128) / 128;
        scene.colour[3 * (header.harmonics() * n + k) + c] = kTurned[k] ? -value : value;
      }
  }
  return scene;
}

}  // namespace splat_files
