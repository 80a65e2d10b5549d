#include "rlx/image/file.h"

#include <cstring>

#include "rlx/image/file_format.h"

namespace rlx::image {
namespace {

uint64_t rotated(uint64_t word, int bits) { return (word << bits) | (word >> (64 - bits)); }

}  // namespace

uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr uint64_t k1 = 0x9E3779B185EBCA87u, k2 = 0xC2B2AE3D27D4EB4Fu, k3 = 0x165667B19E3779F9u,
                     k4 = 0x85EBCA77C2B2AE63u, k5 = 0x27D4EB2F165667C5u;
  const auto round = [](uint64_t sum, uint64_t word) { return rotated(sum + word * k2, 31) * k1; };
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  const auto load = [&](auto word) {
    std::memcpy(&word, at, sizeof word);
    at += sizeof word, left -= sizeof word;
    return uint64_t{word};
  };
  uint64_t hash = k5;
  if (left >= 32) {
    uint64_t lanes[4] = {k1 + k2, k2, 0, 0 - k1};
    while (left >= 32)
      for (uint64_t& lane : lanes) lane = round(lane, load(uint64_t{}));
    hash =
        rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * k1 + k4;
  }
  hash += bytes.size();
  while (left >= 8) hash = rotated(hash ^ round(0, load(uint64_t{})), 27) * k1 + k4;
  if (left >= 4) hash = rotated(hash ^ (load(uint32_t{}) * k1), 23) * k2 + k3;
  while (left > 0) hash = rotated(hash ^ (load(uint8_t{}) * k5), 11) * k1;
  hash = (hash ^ (hash >> 33)) * k2;
  hash = (hash ^ (hash >> 29)) * k3;
  return hash ^ (hash >> 32);
}

uint64_t header_checksum(const Header& header) {
  return checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum)));
}

}  // namespace rlx::image
