#include "rlx/vector/byte_unfold.h"

#include <algorithm>
#include <cstring>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rlx::vector {
namespace {

// Four rows of bytes as words, each byte changed by `flip`.
void interleave(const uint8_t* const (&rows)[4], uint8_t flip, int64_t count, uint32_t* to) {
  int64_t j = 0;
#if defined(__SSE2__)
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const auto row = [&](int r) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[r] + j)), flips);
  };
  for (; j + 16 <= count; j += 16) {
    const __m128i a = row(0), b = row(1), c = row(2), d = row(3);
    const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d),
                  ab2 = _mm_unpackhi_epi8(a, b), cd2 = _mm_unpackhi_epi8(c, d);
    auto* words = reinterpret_cast<__m128i*>(to + j);
    _mm_storeu_si128(words, _mm_unpacklo_epi16(ab, cd));
    _mm_storeu_si128(words + 1, _mm_unpackhi_epi16(ab, cd));
    _mm_storeu_si128(words + 2, _mm_unpacklo_epi16(ab2, cd2));
    _mm_storeu_si128(words + 3, _mm_unpackhi_epi16(ab2, cd2));
  }
  // Eight at a time; the last eight are perhaps in part done again.
  while (j < count && count >= 8) {
    j = std::min(j, count - 8);
    const auto half = [&](int r) {
      return _mm_xor_si128(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[r] + j)), flips);
    };
    const __m128i ab = _mm_unpacklo_epi8(half(0), half(1)),
                  cd = _mm_unpacklo_epi8(half(2), half(3));
    auto* words = reinterpret_cast<__m128i*>(to + j);
    _mm_storeu_si128(words, _mm_unpacklo_epi16(ab, cd));
    _mm_storeu_si128(words + 1, _mm_unpackhi_epi16(ab, cd));
    j += 8;
  }
#endif
  for (; j < count; ++j)
    for (int r = 0; r < 4; ++r)
      reinterpret_cast<uint8_t*>(to + j)[r] = static_cast<uint8_t>(rows[r][j] ^ flip);
}

// Adds bytes, changed by `flip`, to sums that do not overflow for 256 of them.
void add_bytes(const uint8_t* bytes, uint8_t flip, int64_t count, uint16_t* sums) {
  int64_t j = 0;
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128(), flips = _mm_set1_epi8(static_cast<char>(flip));
  for (; j + 16 <= count; j += 16) {
    const __m128i row =
        _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + j)), flips);
    auto* to = reinterpret_cast<__m128i*>(sums + j);
    _mm_storeu_si128(to, _mm_add_epi16(_mm_loadu_si128(to), _mm_unpacklo_epi8(row, zero)));
    _mm_storeu_si128(to + 1, _mm_add_epi16(_mm_loadu_si128(to + 1), _mm_unpackhi_epi8(row, zero)));
  }
  if (j + 8 <= count) {
    const __m128i row =
        _mm_xor_si128(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + j)), flips);
    auto* to = reinterpret_cast<__m128i*>(sums + j);
    _mm_storeu_si128(to, _mm_add_epi16(_mm_loadu_si128(to), _mm_unpacklo_epi8(row, zero)));
    j += 8;
  }
#endif
  for (; j < count; ++j) sums[j] = static_cast<uint16_t>(sums[j] + (bytes[j] ^ flip));
}

inline void copy_words(const uint32_t* from, int64_t step, uint32_t* to, int64_t count) {
  constexpr int64_t kWorthACall = 16;
  if (step == 1 && count >= kWorthACall) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(uint32_t));
    return;
  }
  int64_t i = 0;
#if defined(__SSE2__)
  for (; step == 1 && i + 4 <= count; i += 4)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
#endif
  for (; i < count; ++i) to[i] = from[i * step];
}

int32_t number_of(const ByteUnfold& u, const ByteGemm& gemm, uint8_t byte) {
  return (u.is_signed ? static_cast<int8_t>(byte) : byte) + gemm.b_shift(u.is_signed);
}
// A word of one number again and again.
uint32_t word_of(const ByteGemm& gemm, int32_t number) {
  return gemm.in_word == 4 ? static_cast<uint8_t>(number) * 0x01010101u
                           : static_cast<uint16_t>(number) * 0x00010001u;
}

// The pixels of a row that lie in the picture, where `row` does.
struct Inside {
  const uint8_t* at;  // of the first channel
  Range pixels;       // of those that are reached
  Inside(const ByteUnfold& u, int64_t row) {
    const Windows::Axis &ys = u.windows.y, &xs = u.windows.x;
    const int64_t y = row - ys.before, width = u.pixels();
    pixels.begin = std::clamp<int64_t>(xs.before, 0, width);
    pixels.end = std::clamp<int64_t>(xs.in + xs.before, pixels.begin, width);
    if (y < 0 || y >= ys.in) pixels.end = pixels.begin;
    at = pixels.count() == 0 ? nullptr : u.planes + y * xs.in + pixels.begin - xs.before;
  }
};

// Some pixels of a row, no more than a part of it; `at` is where they lie in the first channel.
class PictureRow {
 public:
  static constexpr int64_t kMost = 256;
  PictureRow(const ByteUnfold& unfold, const ByteGemm& gemm, const uint8_t* at, int64_t count)
      : u_(unfold), gemm_(gemm), at_(at), count_(count) {
    std::fill(zeros_, zeros_ + kMost, unfold.zero);
  }

  // Channels from `first` on as words, zero points where there are none.
  void words(int64_t first, uint32_t* to) const {
    const uint8_t* rows[4];
    for (int64_t r = 0; r < gemm_.in_word; ++r)
      rows[r] = first + r < u_.channels ? channel(first + r) : zeros_;
    if (gemm_.in_word == 4) return interleave(rows, u_.is_signed ? 0 : 128, count_, to);
    for (int64_t i = 0; i < count_; ++i)
      for (int64_t r = 0; r < 2; ++r)
        reinterpret_cast<int16_t*>(to + i)[r] =
            static_cast<int16_t>(number_of(u_, gemm_, rows[r][i]));
  }

  // Adds the numbers of all channels.
  void add(int32_t* sums) const {
    const uint8_t flip = u_.is_signed ? 128 : 0;  // to bytes without a sign
    const int32_t shift = gemm_.b_shift(u_.is_signed) - flip;
    for (int64_t c = 0; c < u_.channels;) {
      uint16_t part[kMost] = {};
      const int64_t end = std::min<int64_t>(u_.channels, c + 256);
      const auto shifts = static_cast<int32_t>(end - c) * shift;
      for (; c < end; ++c) add_bytes(channel(c), flip, count_, part);
      for (int64_t i = 0; i < count_; ++i) sums[i] += part[i] + shifts;
    }
  }

 private:
  const uint8_t* channel(int64_t c) const { return at_ + c * u_.windows.y.in * u_.windows.x.in; }
  const ByteUnfold& u_;
  const ByteGemm& gemm_;
  const uint8_t* at_;
  const int64_t count_;
  uint8_t zeros_[kMost];
};

// Places of a panel that lie side by side in a row of the result.
struct Runs {
  struct Run {
    int64_t at, count;  // columns of the panel
    int64_t from;       // pixel under the first one's first tap
  };
  static constexpr int64_t kMost = 64;  // columns of a panel
  Run all[kMost];
  int64_t count = 0;
  Runs(const ByteUnfold& u, int64_t first, int64_t columns) {
    const Windows::Axis &ys = u.windows.y, &xs = u.windows.x;
    for (int64_t at = 0; at < columns;) {
      const int64_t row = (first + at) / xs.out, pixel = (first + at) % xs.out;
      const int64_t here = std::min(columns - at, xs.out - pixel);
      all[count++] = {at, here, row * ys.stride * u.pixels() + pixel * xs.stride};
      at += here;
    }
  }
};

}  // namespace

void take_picture(const ByteUnfold& unfold, const ByteGemm& gemm, Range rows, uint32_t* words,
                  int32_t* sums) {
  const int64_t deep = gemm.words(unfold.channels), height = unfold.rows(), width = unfold.pixels();
  const int64_t filled = deep * gemm.in_word;
  const int32_t zero = number_of(unfold, gemm, unfold.zero);
  const uint32_t outside = word_of(gemm, zero);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Inside inside(unfold, row);
    const auto [begin, end] = inside.pixels;
    for (int64_t w = 0; w < deep; ++w) {
      uint32_t* to = words + (w * height + row) * width;
      std::fill(to, to + begin, outside);
      std::fill(to + end, to + width, outside);
    }
    int32_t* sum = sums + row * width;
    std::fill(sum, sum + width, static_cast<int32_t>(filled) * zero);
    std::fill(sum + begin, sum + end, static_cast<int32_t>(filled - unfold.channels) * zero);
    for (int64_t at = begin; at < end; at += PictureRow::kMost) {
      const PictureRow part(unfold, gemm, inside.at + at - begin,
                            std::min(PictureRow::kMost, end - at));
      for (int64_t w = 0; w < deep; ++w)
        part.words(w * gemm.in_word, words + (w * height + row) * width + at);
      part.add(sum + at);
    }
  }
}

void pack_unfolded(const ByteUnfold& unfold, const ByteGemm& gemm, const uint32_t* words,
                   const int32_t* pixel_sums, Range panels, uint32_t* packed, int32_t* sums) {
  const Windows::Axis &ys = unfold.windows.y, &xs = unfold.windows.x;
  const int64_t columns = gemm.panel_columns, deep = gemm.words(unfold.channels),
                height = unfold.rows(), width = unfold.pixels();
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    const int64_t first = p * columns, count = std::min(columns, unfold.places() - first);
    const Runs runs(unfold, first, count);
    uint32_t* to = packed + first * unfold.taps() * deep;
    int32_t* sum = sums + first;
    std::fill(sum, sum + columns, 0);
    for (int64_t tap = 0; tap < unfold.taps(); ++tap) {
      const int64_t offset = tap / xs.window * ys.dilation * width + tap % xs.window * xs.dilation;
      for (int64_t i = 0; i < runs.count; ++i) {
        const auto& [at, here, from] = runs.all[i];
        const int32_t* each = pixel_sums + offset + from;
        for (int64_t j = 0; j < here; ++j) sum[at + j] += each[j * xs.stride];
      }
      for (int64_t w = 0; w < deep; ++w, to += columns) {
        for (int64_t i = 0; i < runs.count; ++i) {
          const auto& [at, here, from] = runs.all[i];
          copy_words(words + w * height * width + offset + from, xs.stride, to + at, here);
        }
        std::fill(to + count, to + columns, 0u);
      }
    }
  }
}

void take_taps(const ByteUnfold& unfold, const ByteGemm& gemm, const void* weights, bool is_signed,
               Range rows, uint32_t* words, int32_t* sums) {
  const int64_t taps = unfold.taps(), channels = unfold.channels, deep = gemm.words(channels);
  std::vector<int32_t> each(static_cast<size_t>(taps));
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    gemm.take_rows(
        {static_cast<const uint8_t*>(weights) + row * channels * taps, is_signed, 1, taps},
        channels, {0, taps}, words + row * taps * deep, each.data());
    sums[row] = 0;
    for (const int32_t sum : each) sums[row] += sum;
  }
}

}  // namespace rlx::vector
