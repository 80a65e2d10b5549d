#include "rlx/vector/byte_unfold.h"

#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

// The number that channel c of a place's tap meets, as it is laid out; the zero point outside and
// beyond the channels.
int32_t met(const ByteUnfold& u, const ByteGemm& gemm, int64_t place, int64_t tap, int64_t c) {
  const Windows::Axis &ys = u.windows.y, &xs = u.windows.x;
  const int64_t y = place / xs.out * ys.stride - ys.before + tap / xs.window * ys.dilation,
                x = place % xs.out * xs.stride - xs.before + tap % xs.window * xs.dilation;
  const bool inside = c < u.channels && y >= 0 && y < ys.in && x >= 0 && x < xs.in;
  const uint8_t byte = inside ? u.planes[(c * ys.in + y) * xs.in + x] : u.zero;
  return (u.is_signed ? static_cast<int8_t>(byte) : byte) + gemm.b_shift(u.is_signed);
}
int32_t number_in(const ByteGemm& gemm, const uint32_t* words, int64_t i) {
  return gemm.in_word == 4 ? reinterpret_cast<const int8_t*>(words)[i]
                           : reinterpret_cast<const int16_t*>(words)[i];
}
size_t size(int64_t count) { return static_cast<size_t>(count); }

void expect_windows(const ByteUnfold& unfold, const ByteGemm& gemm) {
  const int64_t panels = gemm.panels(unfold.places()), inner = unfold.inner(gemm),
                width = gemm.panel_columns, rows = unfold.rows();
  std::vector<uint32_t> words(size(unfold.words(gemm))),
      packed(size(gemm.packed_words(inner, unfold.places())));
  std::vector<int32_t> pixels(size(rows * unfold.pixels())), sums(size(panels * width));
  take_picture(unfold, gemm, {rows / 2, rows}, words.data(), pixels.data());
  take_picture(unfold, gemm, {0, rows / 2}, words.data(), pixels.data());
  for (const Range some : {Range{0, panels / 2}, Range{panels / 2, panels}})
    pack_unfolded(unfold, gemm, words.data(), pixels.data(), some, packed.data(), sums.data());
  const int64_t deep = gemm.words(unfold.channels);
  for (int64_t place = 0; place < unfold.places(); ++place) {
    int32_t sum = 0;
    const uint32_t* panel =
        packed.data() + place / width * width * unfold.taps() * deep + place % width;
    for (int64_t tap = 0; tap < unfold.taps(); ++tap)
      for (int64_t c = 0; c < deep * gemm.in_word; ++c) {
        const int64_t word = tap * deep + c / gemm.in_word;
        const int32_t want = met(unfold, gemm, place, tap, c);
        ASSERT_EQ(number_in(gemm, panel + word * width, c % gemm.in_word), want)
            << "place " << place << " tap " << tap << " channel " << c;
        sum += want;
      }
    ASSERT_EQ(sums[size(place)], sum) << "place " << place;
  }
}

TEST(VectorByteUnfold, AColumnIsWhatItsWindowMeetsTapByTap) {
  for (const Windows& w :
       {Windows{same(14, 3), same(14, 3)}, Windows{same(9, 7, 2), same(50, 7, 2)},
        Windows{axis(3, 1), axis(5, 1)}, Windows{axis(5, 1, 2), axis(9, 1, 2)},
        Windows{axis(1, 1), axis(300, 3, 1, 2, 2, 2)},
        Windows{axis(9, 2, 3, 1, 1, 0), axis(10, 4, 1, 1, 0, 3)},
        Windows{axis(2, 3, 1, 1, 4, 4), axis(2, 3, 1, 1, 4, 4)}})
    for (const int64_t channels : {1, 3, w.y.out == 1 ? 300 : 40})
      for (const bool is_signed : {false, true}) {
        std::vector<uint8_t> x(size(channels * w.y.in * w.x.in));
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 37 + i / 5);
        for (const Isa isa : {Isa::baseline, best_isa()})
          for (const bool by_fours : {false, multiplies_bytes()}) {
            SCOPED_TRACE(name_of(isa));
            expect_windows({x.data(), is_signed, 19, channels, w}, byte_gemm(isa, by_fours));
          }
      }
}

TEST(VectorByteUnfold, WeightsLieAsTheColumnsDo) {
  const ByteUnfold unfold{nullptr, false, 0, 6, {axis(9, 3), axis(9, 2)}};
  const int64_t outputs = 5, taps = unfold.taps();
  std::vector<int8_t> weights(size(outputs * 6 * taps));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int8_t>(i * 73);
  for (const bool by_fours : {false, multiplies_bytes()}) {
    const ByteGemm gemm = byte_gemm(best_isa(), by_fours);
    const int64_t deep = gemm.words(6);
    std::vector<uint32_t> words(size(outputs * taps * deep));
    std::vector<int32_t> sums(size(outputs));
    take_taps(unfold, gemm, weights.data(), true, {0, outputs}, words.data(), sums.data());
    for (int64_t o = 0; o < outputs; ++o) {
      int32_t sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t c = 0; c < 6; ++c) {
          const int32_t want = weights[size((o * 6 + c) * taps + tap)] + gemm.a_shift(true);
          const uint32_t* word = words.data() + (o * taps + tap) * deep + c / gemm.in_word;
          const int32_t got = gemm.in_word == 4 ? reinterpret_cast<const uint8_t*>(word)[c % 4]
                                                : reinterpret_cast<const int16_t*>(word)[c % 2];
          ASSERT_EQ(got, want);
          sum += want;
        }
      EXPECT_EQ(sums[size(o)], sum);
    }
  }
}

}  // namespace
}  // namespace rlx::vector
