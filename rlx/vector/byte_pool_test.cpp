#include "rlx/vector/byte_pool.h"

#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

TEST(VectorBytePool, IsTheLargestOfWhatIsUnderEachWindow) {
  for (const Windows& w : {Windows{same(9, 3, 2), same(37, 3, 2)}, Windows{axis(6, 2), axis(19, 2)},
                           Windows{axis(7, 3, 1, 2, 1, 2), axis(11, 2, 3, 3, 2, 1)},
                           Windows{axis(2, 1, 1, 1, 3, 3), axis(2, 1, 1, 1, 3, 3)}})
    for (const auto& [is_signed, channels] :
         {std::pair(false, 1), std::pair(true, 1), std::pair(false, 19), std::pair(true, 32)}) {
      const auto size = [each = channels](int64_t pixels) {
        return static_cast<size_t>(pixels * each);
      };
      std::vector<uint8_t> x(size(w.y.in * w.x.in)), y(size(w.y.out * w.x.out), 77),
          scratch(size(w.x.in));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 101 + i / 7);
      const int64_t half = w.y.out / 2;
      const BytePool pool{w, is_signed, channels, x.data(), y.data()};
      highest_bytes(pool, {0, half}, scratch.data());
      highest_bytes(pool, {half, w.y.out}, scratch.data());
      for (int64_t row = 0; row < w.y.out; ++row)
        for (int64_t at = 0; at < w.x.out * channels; ++at) {
          const int64_t pixel = at / channels, c = at % channels;
          int want = is_signed ? -128 : 0;
          for (int64_t i = 0; i < w.y.window; ++i)
            for (int64_t j = 0; j < w.x.window; ++j) {
              const int64_t at_y = row * w.y.stride - w.y.before + i * w.y.dilation,
                            at_x = pixel * w.x.stride - w.x.before + j * w.x.dilation;
              if (at_y < 0 || at_y >= w.y.in || at_x < 0 || at_x >= w.x.in) continue;
              const uint8_t byte = x[size(at_y * w.x.in + at_x) + static_cast<size_t>(c)];
              want = std::max<int>(want, is_signed ? static_cast<int8_t>(byte) : byte);
            }
          const uint8_t got = y[size(row * w.x.out + pixel) + static_cast<size_t>(c)];
          ASSERT_EQ(is_signed ? static_cast<int8_t>(got) : got, want)
              << row << ", " << pixel << ", " << c;
        }
    }
}

}  // namespace
}  // namespace rlx::vector
