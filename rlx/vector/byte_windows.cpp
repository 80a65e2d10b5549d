#include "rlx/vector/byte_windows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rlx::vector {
namespace {

// The numbers of a picture as they lie in words.
struct Bytes {
  using Number = uint8_t;
  static constexpr int64_t in_word = 4;
  static Number of(bool is_signed, uint8_t byte) {
    return static_cast<uint8_t>(is_signed ? byte ^ 128 : byte);
  }
};
struct Halves {
  using Number = int16_t;
  static constexpr int64_t in_word = 2;
  static Number of(bool is_signed, uint8_t byte) {
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }
};

// Numbers side by side, by as many as compilers make vectors of.
template <class Words, bool is_signed>
void take_numbers(const uint8_t* from, int64_t count, typename Words::Number* to) {
  constexpr int64_t kTogether = 16;
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    uint8_t bytes[kTogether];
    typename Words::Number numbers[kTogether];
    std::memcpy(bytes, from + i, sizeof bytes);
    for (int64_t j = 0; j < kTogether; ++j) numbers[j] = Words::of(is_signed, bytes[j]);
    std::memcpy(to + i, numbers, sizeof numbers);
  }
  for (; i < count; ++i) to[i] = Words::of(is_signed, from[i]);
}

// Channels of one plane after the other, a word of each pixel at a time.
template <class Words>
void take_planes(const BytePicture& p, const uint8_t* from, int64_t count,
                 typename Words::Number* to) {
  constexpr int64_t in_word = Words::in_word;
  const int64_t deep = p.deep(in_word), filled = deep * in_word;
  const auto zero = Words::of(p.is_signed, p.zero);
  for (int64_t first = 0; first < filled; first += in_word)
    for (int64_t c = first; c < first + in_word; ++c) {
      const uint8_t* plane = from + c * p.channel;
      for (int64_t i = 0; i < count; ++i)
        to[i * filled + c] = c < p.channels ? Words::of(p.is_signed, plane[i * p.pixel]) : zero;
    }
}

// Channels side by side.
template <class Words>
void take_channels(const BytePicture& p, const uint8_t* from, int64_t count,
                   typename Words::Number* to) {
  const int64_t filled = p.deep(Words::in_word) * Words::in_word;
  const auto zero = Words::of(p.is_signed, p.zero);
  if (sizeof(*to) == 1 && !p.is_signed && p.pixel == filled && p.channels == filled) {
    std::memcpy(to, from, static_cast<size_t>(count * filled));
    return;
  }
  const auto take = p.is_signed ? take_numbers<Words, true> : take_numbers<Words, false>;
  for (int64_t i = 0; i < count; ++i, from += p.pixel, to += filled) {
    take(from, p.channels, to);
    std::fill(to + p.channels, to + filled, zero);
  }
}

bool is_little_endian() {
  const uint32_t one = 1;
  uint8_t first;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

// The same of bytes, by whole words.
void take_planes_as_words(const BytePicture& p, const uint8_t* from, int64_t count, uint32_t* to) {
  const int64_t deep = p.deep(Bytes::in_word);
  const uint32_t flip = p.is_signed ? 0x80808080u : 0;
  for (int64_t w = 0; w < deep; ++w) {
    const uint8_t* plane[4];
    int64_t step[4];  // what fills a word is one byte again and again
    for (int64_t c = 0; c < 4; ++c) {
      const bool inside = w * 4 + c < p.channels;
      plane[c] = inside ? from + (w * 4 + c) * p.channel : &p.zero;
      step[c] = inside ? p.pixel : 0;
    }
    int64_t i = 0;
#if defined(__SSE2__)
    // 16 pixels at a time, where a pixel is one word and its planes lie end to end.
    if (deep == 1 && p.pixel == 1) {
      const auto load = [&](int c) {
        return step[c] == 0 ? _mm_set1_epi8(static_cast<char>(*plane[c]))
                            : _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane[c] + i));
      };
      const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
      for (; i + 16 <= count; i += 16) {
        const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
        const __m128i ab[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)},
                      cd[2] = {_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d)};
        auto* at = reinterpret_cast<__m128i*>(to + i);
        for (int half = 0; half < 2; ++half) {
          _mm_storeu_si128(at++, _mm_xor_si128(_mm_unpacklo_epi16(ab[half], cd[half]), flips));
          _mm_storeu_si128(at++, _mm_xor_si128(_mm_unpackhi_epi16(ab[half], cd[half]), flips));
        }
      }
    }
#endif
    for (; i < count; ++i) {
      const auto at = [&](int c) { return uint32_t{plane[c][i * step[c]]} << (8 * c); };
      to[i * deep + w] = (at(0) | at(1) | at(2) | at(3)) ^ flip;
    }
  }
}

template <class Words>
void take_rows_of(const BytePicture& p, Range rows, uint32_t* words) {
  using Number = typename Words::Number;
  const Windows::Axis &ys = p.windows.y, &xs = p.windows.x;
  const int64_t width = p.pixels(), filled = p.deep(Words::in_word) * Words::in_word;
  const Number zero = Words::of(p.is_signed, p.zero);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    auto* to = reinterpret_cast<Number*>(words) + row * width * filled;
    const int64_t y = row - ys.before;
    int64_t begin = std::clamp<int64_t>(xs.before, 0, width),
            end = std::clamp<int64_t>(xs.in + xs.before, begin, width);
    if (y < 0 || y >= ys.in) end = begin;
    std::fill(to, to + begin * filled, zero);
    std::fill(to + end * filled, to + width * filled, zero);
    if (begin == end) continue;
    const uint8_t* from = p.data + y * p.row + (begin - xs.before) * p.pixel;
    if (p.channel == 1)
      take_channels<Words>(p, from, end - begin, to + begin * filled);
    else if (Words::in_word == Bytes::in_word && is_little_endian())
      take_planes_as_words(p, from, end - begin, reinterpret_cast<uint32_t*>(to + begin * filled));
    else
      take_planes<Words>(p, from, end - begin, to + begin * filled);
  }
}

template <class Number>
int32_t sum_of(const uint32_t* words, int64_t count) {
  const auto* numbers = reinterpret_cast<const Number*>(words);
  return std::accumulate(numbers,
                         numbers + count * static_cast<int64_t>(sizeof(uint32_t) / sizeof(Number)),
                         int32_t{0});
}

}  // namespace

void take_pixels(const BytePicture& picture, int64_t in_word, Range rows, uint32_t* words) {
  if (in_word == Bytes::in_word) return take_rows_of<Bytes>(picture, rows, words);
  take_rows_of<Halves>(picture, rows, words);
}

void WindowPieces::find(const BytePicture& picture, int64_t in_word) {
  if (deep == picture.deep(in_word) && windows == picture.windows) return;
  deep = picture.deep(in_word);
  windows = picture.windows;
  const Windows::Axis &ys = windows.y, &xs = windows.x;
  const int64_t width = picture.pixels();
  const bool touch = xs.dilation == 1 || xs.window == 1;
  words = touch ? xs.window * deep : deep;
  offsets.clear();
  for (int64_t y = 0; y < ys.window; ++y)
    for (int64_t x = 0; x < (touch ? 1 : xs.window); ++x)
      offsets.push_back((y * ys.dilation * width + x * xs.dilation) * deep);
  starts.clear();
  for (int64_t y = 0; y < ys.out; ++y)
    for (int64_t x = 0; x < xs.out; ++x)
      starts.push_back((y * ys.stride * width + x * xs.stride) * deep);
}

void sum_windows(const WindowPieces& windows, int64_t in_word, const uint32_t* words, Range rows,
                 int32_t* sums) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    int32_t sum = 0;
    for (const int64_t offset : windows.offsets) {
      const uint32_t* piece = words + windows.starts[static_cast<size_t>(row)] + offset;
      sum += in_word == Bytes::in_word ? sum_of<uint8_t>(piece, windows.words)
                                       : sum_of<int16_t>(piece, windows.words);
    }
    sums[row] = sum;
  }
}

void pack_taps(const BytePicture& picture, const ByteGemm& gemm, const void* weights,
               bool is_signed, int64_t outputs, Range panels, uint32_t* packed, int32_t* sums) {
  const int64_t taps = picture.taps(), channels = picture.channels;
  const int64_t filled = picture.deep(gemm.in_word) * gemm.in_word, inner = taps * filled;
  const Range columns{panels.begin * gemm.panel_columns,
                      std::min(outputs, panels.end * gemm.panel_columns)};
  // In the order of the words of a window. What fills a word meets zero points, whatever it is.
  std::vector<uint8_t> ordered(static_cast<size_t>(columns.count() * inner));
  const auto* from = static_cast<const uint8_t*>(weights) + columns.begin * channels * taps;
  uint8_t* to = ordered.data();
  for (int64_t j = 0; j < columns.count(); ++j, to += inner, from += channels * taps)
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t c = 0;
      for (; c + 4 <= channels; c += 4) {
        const uint8_t* at = from + c * taps + tap;
        const uint8_t word[] = {at[0], at[taps], at[2 * taps], at[3 * taps]};
        std::memcpy(to + tap * filled + c, word, sizeof word);
      }
      for (; c < channels; ++c) to[tap * filled + c] = from[c * taps + tap];
    }
  const ByteMatrix matrix{ordered.data(), is_signed, 1, inner};
  gemm.pack(matrix, inner, columns.count(), {0, panels.count()},
            packed + panels.begin * gemm.panel_columns * gemm.words(inner),
            sums + panels.begin * gemm.panel_columns);
}

}  // namespace rlx::vector
