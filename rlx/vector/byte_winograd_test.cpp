#include "rlx/vector/byte_winograd.h"

#include <gtest/gtest.h>

#include "rlx/vector/byte_windows.h"
#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

size_t size(int64_t count) { return static_cast<size_t>(count); }

// The outermost ones often: sums and transforms are largest there.
std::vector<uint8_t> some_bytes(int64_t count, unsigned seed, uint8_t low, uint8_t high) {
  std::mt19937 engine(seed);
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i) {
    const unsigned way = engine() % 4;
    bytes.push_back(way == 0 ? low : way == 1 ? high : static_cast<uint8_t>(engine()));
  }
  return bytes;
}

struct Case {
  Windows windows;
  int64_t inputs, outputs;
  bool is_signed;
  uint8_t zero;
  bool all_alike = false;  // the largest sums there are
};

int64_t number(uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<int8_t>(byte) : byte;
}

int64_t sum_at(const Case& c, const std::vector<uint8_t>& x, const std::vector<uint8_t>& w,
               int64_t row, int64_t pixel, int64_t output) {
  const Windows::Axis &ys = c.windows.y, &xs = c.windows.x;
  int64_t sum = 0;
  for (int64_t i = 0; i < 9; ++i) {
    const int64_t y = row - ys.before + i / 3, at = pixel - xs.before + i % 3;
    if (y < 0 || y >= ys.in || at < 0 || at >= xs.in) continue;
    for (int64_t k = 0; k < c.inputs; ++k)
      sum += (number(x[size((y * xs.in + at) * c.inputs + k)], c.is_signed) -
              number(c.zero, c.is_signed)) *
             static_cast<int8_t>(w[size((output * c.inputs + k) * 9 + i)]);
  }
  return sum;
}

void expect_sums(const Case& c, Isa isa, int threads) {
  const ByteGemm gemm = byte_gemm(isa, false);
  const ByteWinogradCode code(isa, gemm);
  ASSERT_TRUE(code.accepts(c.windows, c.inputs, c.outputs));
  const Windows::Axis &ys = c.windows.y, &xs = c.windows.x;
  const uint8_t low = c.is_signed ? 128 : 0, high = c.is_signed ? 127 : 255;
  const int64_t bytes = ys.in * xs.in * c.inputs;
  const std::vector<uint8_t> x =
      c.all_alike ? std::vector<uint8_t>(size(bytes), high) : some_bytes(bytes, 1, low, high);
  const std::vector<uint8_t> w = c.all_alike
                                     ? std::vector<uint8_t>(size(c.outputs * c.inputs * 9), 128)
                                     : some_bytes(c.outputs * c.inputs * 9, 2, 128, 127);
  std::vector<uint32_t> packed(size(code.packed_words(c.inputs, c.outputs)), 7);
  const int64_t panels = gemm.panels(c.outputs);
  const auto* weights = reinterpret_cast<const int8_t*>(w.data());
  for (int64_t i = 0; i < panels; ++i)
    code.pack(weights, c.inputs, c.outputs, {i, i + 1}, packed.data());
  ByteWinograd conv{c.inputs, c.outputs, ys.out, xs.out};
  const BytePicture picture = code.picture(
      {x.data(), 1, c.inputs, xs.in * c.inputs, c.is_signed, c.zero, c.inputs, c.windows});
  std::vector<uint32_t> words(size(picture.words(2)));
  take_pixels(picture, 2, {0, picture.rows()}, words.data());
  conv.picture = words.data();
  conv.zero = static_cast<int32_t>(number(c.zero, c.is_signed));
  conv.weights = packed.data();
  const ByteWinogradBlocks blocks = code.blocks(conv, threads);
  std::vector<int> seen(size(ys.out * xs.out * c.outputs));
  std::vector<uint32_t> scratch(size(blocks.scratch_size));
  for (int64_t i = 0; i < blocks.count(); ++i) {
    const ByteWinogradPart part = code.run(conv, blocks, i, scratch.data());
    for (int64_t y = part.rows.begin; y < part.rows.end; ++y)
      for (int64_t at = part.pixels.begin; at < part.pixels.end; ++at)
        for (int64_t o = part.channels.begin; o < part.channels.end; ++o) {
          const int32_t got =
              part.sums[(y - part.rows.begin) * part.row + (at - part.pixels.begin) * part.pixel +
                        o - part.channels.begin];
          ++seen[size((y * xs.out + at) * c.outputs + o)];
          if (o % 7 != 0 && o + 1 != c.outputs) continue;
          ASSERT_EQ(got, sum_at(c, x, w, y, at, o))
              << name_of(isa) << " row " << y << " pixel " << at << " output " << o;
        }
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(VectorByteWinograd, SumsAreThoseOfTheWindowsExactly) {
  for (const Case& c : {Case{{same(8, 3), same(12, 3)}, 64, 64, false, 0},
                        {{same(7, 3), same(9, 3)}, 33, 50, false, 131},
                        {{same(5, 3), same(70, 3)}, 50, 17, true, 249},
                        {{axis(6, 3, 1, 1, 0, 0), axis(7, 3, 1, 1, 2, 2)}, 128, 90, true, 0},
                        {{same(6, 3), same(6, 3)}, 1024, 16, false, 0, true},
                        {{same(5, 3), same(5, 3)}, 256, 16, false, 255}})
    for (const Isa isa : isas())
      for (const int threads : {1, 3}) {
        expect_sums(c, isa, threads);
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST(VectorByteWinograd, WindowsOfAnotherKindAreRefused) {
  const ByteWinogradCode code(best_isa(), byte_gemm(best_isa(), false));
  const Windows good{same(8, 3), same(8, 3)};
  EXPECT_TRUE(code.accepts(good, 64, 64));
  EXPECT_FALSE(code.accepts({same(8, 3, 2), same(8, 3)}, 64, 64));
  EXPECT_FALSE(code.accepts({same(8, 3), same(8, 5)}, 64, 64));
  EXPECT_FALSE(code.accepts({same(8, 3), axis(8, 3, 1, 2, 2, 2)}, 64, 64));
  EXPECT_FALSE(code.accepts(good, 16, 64));
  EXPECT_FALSE(code.accepts(good, 1025, 64));  // four times its sums would not fit
  if (multiplies_bytes())
    EXPECT_FALSE(ByteWinogradCode(best_isa(), byte_gemm(best_isa(), true)).accepts(good, 64, 64));
}

}  // namespace
}  // namespace rlx::vector
