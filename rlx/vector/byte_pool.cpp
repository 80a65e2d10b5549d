#include "rlx/vector/byte_pool.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rlx::vector {
namespace {

// The larger of each two. Bytes with a sign have it turned, which makes their order that of others.
void raise(uint8_t* to, const uint8_t* from, uint8_t turn, int64_t count) {
  int64_t i = 0;
#if defined(__SSE2__)
  const __m128i turns = _mm_set1_epi8(static_cast<char>(turn));
  for (; i + 16 <= count; i += 16) {
    auto* at = reinterpret_cast<__m128i*>(to + i);
    const __m128i x =
        _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)), turns);
    _mm_storeu_si128(at, _mm_max_epu8(_mm_loadu_si128(at), x));
  }
#endif
  for (; i < count; ++i) to[i] = std::max(to[i], static_cast<uint8_t>(from[i] ^ turn));
}

}  // namespace

void highest_bytes(const BytePool& pool, Range rows, uint8_t* scratch) {
  const Windows::Axis &ys = pool.windows.y, &xs = pool.windows.x;
  const uint8_t turn = pool.is_signed ? 128 : 0;
  const int64_t channels = pool.channels, length = xs.in * channels;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    std::memset(scratch, 0, static_cast<size_t>(length));
    for (int64_t i = 0; i < ys.window; ++i)
      if (const int64_t at = row * ys.stride - ys.before + i * ys.dilation; at >= 0 && at < ys.in)
        raise(scratch, pool.x + at * length, turn, length);
    uint8_t* to = pool.y + row * xs.out * channels;
    for (int64_t pixel = 0; pixel < xs.out; ++pixel, to += channels) {
      const int64_t first = pixel * xs.stride - xs.before;
      std::memset(to, 0, static_cast<size_t>(channels));
      for (int64_t i = 0; i < xs.window; ++i)
        if (const int64_t at = first + i * xs.dilation; at >= 0 && at < xs.in) {
          if (channels == 1)
            *to = std::max(*to, scratch[at]);
          else
            raise(to, scratch + at * channels, 0, channels);
        }
      for (int64_t c = 0; turn && c < channels; ++c) to[c] ^= turn;
    }
  }
}

}  // namespace rlx::vector
