#include "rlx/vector/byte_unfold.h"

#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

// The matrix that is never there.
std::vector<uint8_t> unfolded(const ByteUnfold& u) {
  const Windows::Axis &ys = u.windows.y, &xs = u.windows.x;
  std::vector<uint8_t> matrix;
  for (int64_t c = 0; c < u.channels; ++c)
    for (int64_t i = 0; i < ys.window; ++i)
      for (int64_t j = 0; j < xs.window; ++j)
        for (int64_t row = 0; row < ys.out; ++row)
          for (int64_t pixel = 0; pixel < xs.out; ++pixel) {
            const int64_t y = row * ys.stride - ys.before + i * ys.dilation,
                          x = pixel * xs.stride - xs.before + j * xs.dilation;
            const bool inside = y >= 0 && y < ys.in && x >= 0 && x < xs.in;
            matrix.push_back(inside ? u.planes[(c * ys.in + y) * xs.in + x] : u.padding);
          }
  return matrix;
}

TEST(VectorByteUnfold, PacksWhatTheMatrixOfAllWindowsWouldBePackedAs) {
  for (const Windows& w :
       {Windows{same(14, 3), same(14, 3)}, Windows{same(9, 7, 2), same(50, 7, 2)},
        Windows{axis(3, 1), axis(5, 1)}, Windows{axis(1, 1), axis(130, 3, 1, 2, 2, 2)},
        Windows{axis(2, 3, 1, 1, 4, 4), axis(2, 3, 1, 1, 4, 4)}})
    for (const int64_t channels : {1, 3, 40})
      for (const bool is_signed : {false, true}) {
        std::vector<uint8_t> x(static_cast<size_t>(channels * w.y.in * w.x.in));
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 37 + i / 5);
        const ByteUnfold unfold{x.data(), is_signed, 19, channels, w};
        const std::vector<uint8_t> matrix = unfolded(unfold);
        for (const Isa isa : isas())
          for (const bool by_fours : {false, multiplies_bytes()}) {
            const ByteGemm gemm = byte_gemm(isa, by_fours);
            const int64_t panels = gemm.panels(unfold.places());
            const auto words =
                static_cast<size_t>(gemm.packed_words(unfold.inner(), unfold.places()));
            std::vector<uint32_t> want(words, 1), got(words, 2);
            const auto columns = static_cast<size_t>(panels * gemm.panel_columns);
            std::vector<int32_t> want_sums(columns, 1), got_sums(columns, 2);
            gemm.pack({matrix.data(), is_signed, unfold.places(), 1}, unfold.inner(),
                      unfold.places(), {0, panels}, want.data(), want_sums.data());
            pack_unfolded(unfold, gemm, {0, panels / 2}, got.data(), got_sums.data());
            pack_unfolded(unfold, gemm, {panels / 2, panels}, got.data(), got_sums.data());
            // What fills the last panel is of no matter.
            const auto places = static_cast<size_t>(unfold.places());
            const auto width = static_cast<size_t>(gemm.panel_columns);
            for (size_t i = 0; i < words; ++i) {
              const size_t per_panel = words / static_cast<size_t>(panels);
              if (i / per_panel * width + i % width < places)
                ASSERT_EQ(got[i], want[i]) << name_of(isa) << ", word " << i;
            }
            for (size_t i = 0; i < places; ++i)
              ASSERT_EQ(got_sums[i], want_sums[i]) << name_of(isa) << ", column " << i;
          }
      }
}

}  // namespace
}  // namespace rlx::vector
