#include "rlx/vector/byte_unfold.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rlx::vector {
namespace {

constexpr int64_t kMostColumns = 64;  // of a panel

// What one tap meets at some places of the result, which begin at `first`.
void read_tap(const ByteUnfold& u, int64_t k, int64_t first, int64_t count, uint8_t* to) {
  const Windows::Axis &ys = u.windows.y, &xs = u.windows.x;
  const int64_t across = k % xs.window, down = k / xs.window % ys.window,
                channel = k / xs.window / ys.window;
  const uint8_t* plane = u.planes + channel * ys.in * xs.in;
  int64_t row = first / xs.out, pixel = first % xs.out;
  while (count > 0) {
    const int64_t here = std::min(count, xs.out - pixel);
    const int64_t y = row * ys.stride - ys.before + down * ys.dilation,
                  x = pixel * xs.stride - xs.before + across * xs.dilation;
    if (y < 0 || y >= ys.in) {
      std::memset(to, u.padding, static_cast<size_t>(here));
    } else if (xs.stride == 1) {
      const int64_t begin = std::clamp<int64_t>(-x, 0, here),
                    end = std::clamp<int64_t>(xs.in - x, begin, here);
      std::memset(to, u.padding, static_cast<size_t>(begin));
      if (begin < end)
        std::memcpy(to + begin, plane + y * xs.in + x + begin, static_cast<size_t>(end - begin));
      std::memset(to + end, u.padding, static_cast<size_t>(here - end));
    } else {
      const uint8_t* from = plane + y * xs.in;
      for (int64_t i = 0, at = x; i < here; ++i, at += xs.stride)
        to[i] = at >= 0 && at < xs.in ? from[at] : u.padding;
    }
    to += here;
    count -= here;
    pixel = 0;
    ++row;
  }
}

// Four rows of bytes as words, each byte changed by `flip`.
void interleave(const uint8_t (&rows)[4][kMostColumns], uint8_t flip, int64_t columns,
                uint32_t* to) {
#if defined(__SSE2__)
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const auto row = [&](int r, int64_t j) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[r] + j)), flips);
  };
  for (int64_t j = 0; j < columns; j += 16) {
    const __m128i a = row(0, j), b = row(1, j), c = row(2, j), d = row(3, j);
    const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d),
                  ab2 = _mm_unpackhi_epi8(a, b), cd2 = _mm_unpackhi_epi8(c, d);
    auto* words = reinterpret_cast<__m128i*>(to + j);
    _mm_storeu_si128(words, _mm_unpacklo_epi16(ab, cd));
    _mm_storeu_si128(words + 1, _mm_unpackhi_epi16(ab, cd));
    _mm_storeu_si128(words + 2, _mm_unpacklo_epi16(ab2, cd2));
    _mm_storeu_si128(words + 3, _mm_unpackhi_epi16(ab2, cd2));
  }
#else
  for (int64_t j = 0; j < columns; ++j)
    for (int r = 0; r < 4; ++r)
      reinterpret_cast<uint8_t*>(to + j)[r] = static_cast<uint8_t>(rows[r][j] ^ flip);
#endif
}

// Adds bytes to sums that do not overflow for 256 of them.
void add_bytes(const uint8_t* bytes, int64_t columns, uint16_t* sums) {
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  for (int64_t j = 0; j < columns; j += 16) {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + j));
    auto* to = reinterpret_cast<__m128i*>(sums + j);
    _mm_storeu_si128(to, _mm_add_epi16(_mm_loadu_si128(to), _mm_unpacklo_epi8(row, zero)));
    _mm_storeu_si128(to + 1, _mm_add_epi16(_mm_loadu_si128(to + 1), _mm_unpackhi_epi8(row, zero)));
  }
#else
  for (int64_t j = 0; j < columns; ++j) sums[j] = static_cast<uint16_t>(sums[j] + bytes[j]);
#endif
}

// Bytes whose sign bit is turned are numbers of the other kind, 128 less or more. Panels are of
// 16 columns or a multiple.
struct FourBytes {
  static void pack(const ByteUnfold& u, int64_t first, int64_t count, int64_t columns, uint32_t* to,
                   int32_t* sums) {
    const uint8_t flip = u.is_signed ? 0 : 128;
    const uint8_t to_unsigned = u.is_signed ? 128 : 0;
    uint8_t rows[4][kMostColumns] = {};
    uint16_t part[kMostColumns] = {};
    const int64_t inner = u.inner();
    std::fill(sums, sums + columns, static_cast<int32_t>(-128 * inner));
    const auto flush = [&] {
      for (int64_t j = 0; j < columns; ++j) sums[j] += part[j], part[j] = 0;
    };
    for (int64_t k = 0; k < inner; k += 4, to += columns) {
      for (int64_t r = 0; r < 4; ++r) {
        if (k + r >= inner) {
          std::memset(rows[r], flip, kMostColumns);
          continue;
        }
        read_tap(u, k + r, first, count, rows[r]);
        if (to_unsigned == 0) {
          add_bytes(rows[r], columns, part);
        } else {
          for (int64_t j = 0; j < columns; ++j)
            part[j] = static_cast<uint16_t>(part[j] + (rows[r][j] ^ to_unsigned));
        }
      }
      interleave(rows, flip, columns, to);
      if (k % 252 == 248) flush();
    }
    flush();
  }
};

// Two numbers of 16 bits in a word.
struct Pairs {
  static void pack(const ByteUnfold& u, int64_t first, int64_t count, int64_t columns, uint32_t* to,
                   int32_t* sums) {
    const int64_t inner = u.inner();
    auto* numbers = reinterpret_cast<int16_t*>(to);
    std::fill(sums, sums + columns, 0);
    uint8_t row[kMostColumns] = {};
    for (int64_t k = 0; k < (inner + 1) / 2 * 2; ++k) {
      if (k < inner) read_tap(u, k, first, count, row);
      int16_t* at = numbers + k / 2 * columns * 2 + k % 2;
      for (int64_t j = 0; j < columns; ++j) {
        const int number = u.is_signed ? static_cast<int8_t>(row[j]) : row[j];
        at[j * 2] = static_cast<int16_t>(k < inner ? number : 0);
        sums[j] += k < inner ? number : 0;
      }
    }
  }
};

}  // namespace

void pack_unfolded(const ByteUnfold& unfold, const ByteGemm& gemm, Range panels, uint32_t* packed,
                   int32_t* sums) {
  const int64_t columns = gemm.panel_columns, words = gemm.words(unfold.inner());
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    const int64_t first = p * columns, count = std::min(columns, unfold.places() - first);
    const auto pack = gemm.in_word == 4 ? FourBytes::pack : Pairs::pack;
    pack(unfold, first, count, columns, packed + p * columns * words, sums + first);
  }
}

}  // namespace rlx::vector
