#include "rlx/vector/byte_windows.h"

#include <gtest/gtest.h>

#include "rlx/vector/byte_depthwise.h"
#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

size_t size(int64_t count) { return static_cast<size_t>(count); }

std::vector<uint8_t> some_bytes(int64_t count, size_t factor) {
  std::vector<uint8_t> bytes(size(count));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * factor + i / 5);
  return bytes;
}
int64_t number(uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<int8_t>(byte) : byte;
}

// What channel c of a place's tap meets, less the zero point.
int64_t met(const BytePicture& p, int64_t place, int64_t tap, int64_t c) {
  const Windows::Axis &ys = p.windows.y, &xs = p.windows.x;
  const int64_t y = place / xs.out * ys.stride - ys.before + tap / xs.window * ys.dilation,
                x = place % xs.out * xs.stride - xs.before + tap % xs.window * xs.dilation;
  if (y < 0 || y >= ys.in || x < 0 || x >= xs.in) return 0;
  return number(p.data[y * p.row + x * p.pixel + c * p.channel], p.is_signed) -
         number(p.zero, p.is_signed);
}

const std::vector<Windows>& windows() {
  static const std::vector<Windows> all{{same(14, 3), same(14, 3)},
                                        {same(9, 7, 2), same(50, 7, 2)},
                                        {axis(3, 1), axis(5, 1)},
                                        {axis(5, 1, 2), axis(9, 1, 2)},
                                        {axis(1, 1), axis(300, 3, 1, 2, 2, 2)},
                                        {axis(9, 2, 3, 1, 1, 0), axis(10, 4, 1, 1, 0, 3)},
                                        {axis(2, 3, 1, 1, 4, 4), axis(2, 3, 1, 1, 4, 4)}};
  return all;
}

// Channels side by side, or planes one behind the other.
BytePicture picture_of(const std::vector<uint8_t>& bytes, const Windows& w, int64_t channels,
                       bool planes, bool is_signed) {
  BytePicture p{bytes.data(), 1, channels, w.x.in * channels, is_signed, 19, channels, w};
  if (planes) p.channel = w.y.in * w.x.in, p.pixel = 1, p.row = w.x.in;
  return p;
}

void expect_products(const BytePicture& picture, bool w_signed, const ByteGemm& gemm) {
  constexpr int64_t kOutputs = 50, kZero = 3;
  const int64_t taps = picture.taps(), places = picture.places(), rows = picture.rows();
  const std::vector<uint8_t> weights = some_bytes(kOutputs * picture.channels * taps, 73);
  std::vector<uint32_t> words(size(picture.words(gemm.in_word)));
  take_pixels(picture, gemm.in_word, {rows / 2, rows}, words.data());
  take_pixels(picture, gemm.in_word, {0, rows / 2}, words.data());
  WindowPieces pieces;
  pieces.find(picture, gemm.in_word);
  std::vector<int32_t> window_sums(size(places));
  sum_windows(pieces, gemm.in_word, words.data(), {0, places}, window_sums.data());
  const int64_t inner = picture.inner(gemm.in_word), panels = gemm.panels(kOutputs);
  std::vector<uint32_t> packed(size(gemm.packed_words(inner, kOutputs)));
  std::vector<int32_t> sums(size(panels * gemm.panel_columns)), y(size(places * kOutputs));
  for (int64_t i = 0; i < panels; ++i)
    pack_taps(picture, gemm, weights.data(), w_signed, kOutputs, {i, i + 1}, packed.data(),
              sums.data());
  const auto x_zero = static_cast<int32_t>(number(picture.zero, picture.is_signed)) +
                      gemm.a_shift(picture.is_signed);
  const std::vector<int32_t> w_zeros(sums.size(), kZero + gemm.b_shift(w_signed));
  gemm.run({.rows = places,
            .columns = kOutputs,
            .inner = inner,
            .a = words.data(),
            .pieces = pieces.pieces(),
            .a_sums = window_sums.data(),
            .b = packed.data(),
            .b_sums = sums.data(),
            .a_zero = &x_zero,
            .b_zero = w_zeros.data(),
            .c = y.data(),
            .c_row = kOutputs},
           {0, places}, {0, panels});
  for (int64_t place = 0; place < places; ++place)
    for (const int64_t o : {int64_t{0}, int64_t{17}, kOutputs - 1}) {
      int64_t want = 0;
      for (int64_t c = 0; c < picture.channels; ++c)
        for (int64_t tap = 0; tap < taps; ++tap)
          want +=
              met(picture, place, tap, c) *
              (number(weights[size((o * picture.channels + c) * taps + tap)], w_signed) - kZero);
      ASSERT_EQ(y[size(place * kOutputs + o)], want) << "place " << place << " output " << o;
    }
}

TEST(VectorByteWindows, ProductsOfWindowsAreConvolutions) {
  for (const Windows& w : windows())
    for (const int64_t channels : {1, 3, w.y.out == 1 ? 130 : 20})
      for (int bits = 0; bits < 8; ++bits) {
        const std::vector<uint8_t> bytes = some_bytes(channels * w.y.in * w.x.in, 37);
        const BytePicture picture =
            picture_of(bytes, w, channels, (bits & 1) != 0, (bits & 2) != 0);
        for (const Isa isa : {Isa::baseline, best_isa()})
          for (const bool by_fours : {false, multiplies_bytes()}) {
            SCOPED_TRACE(name_of(isa));
            expect_products(picture, (bits & 4) != 0, byte_gemm(isa, by_fours));
            if (testing::Test::HasFatalFailure()) return;
          }
      }
}

TEST(VectorByteDepthwise, EachChannelHasAWindowOfItsOwn) {
  for (const Windows& w : windows())
    for (const int64_t channels : {3, 16, 37})
      for (const bool is_signed : {false, true}) {
        const std::vector<uint8_t> bytes = some_bytes(channels * w.y.in * w.x.in, 41);
        const BytePicture picture = picture_of(bytes, w, channels, false, is_signed);
        const int64_t taps = picture.taps(), padded = ByteDepthwise::padded(channels);
        std::vector<uint32_t> words(size(picture.words(4) + ByteDepthwise::kSlack / 4));
        take_pixels(picture, 4, {0, picture.rows()}, words.data());
        std::vector<int32_t> weights(size(taps * padded)), start(size(padded));
        const int64_t zero = number(picture.zero, is_signed) + (is_signed ? 128 : 0);
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t tap = 0; tap < taps; ++tap) {
            const auto weight = static_cast<int32_t>((c * 5 + tap * 11) % 255 - 127);
            weights[size(tap * padded + c)] = weight;
            start[size(c)] -= weight * static_cast<int32_t>(zero);
          }
        const int64_t pixel = picture.deep(4) * 4;
        for (const Isa isa : isas()) {
          std::vector<int32_t> y(size(picture.places() * channels), 77);
          ByteDepthwise each{w,
                             channels,
                             reinterpret_cast<uint8_t*>(words.data()),
                             picture.pixels() * pixel,
                             pixel,
                             weights.data(),
                             start.data(),
                             y.data()};
          const int64_t half = w.y.out / 2;
          byte_depthwise(isa)(each, {0, half});
          each.y += half * w.x.out * channels;
          byte_depthwise(isa)(each, {half, w.y.out});
          for (int64_t i = 0; i < picture.places() * channels; ++i) {
            int64_t want = 0;
            for (int64_t tap = 0; tap < taps; ++tap)
              want += met(picture, i / channels, tap, i % channels) *
                      weights[size(tap * padded + i % channels)];
            ASSERT_EQ(y[size(i)], want) << name_of(isa) << " place " << i / channels;
          }
        }
      }
}

}  // namespace
}  // namespace rlx::vector
