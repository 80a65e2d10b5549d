#include "rlx/vector/unfold.h"

#include <gtest/gtest.h>

#include "rlx/vector/team.h"
#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

Windows::Axis axis(int64_t in, int64_t window, int64_t stride, int64_t dilation, int64_t before,
                   int64_t after) {
  const int64_t out = (in + before + after - (window - 1) * dilation - 1) / stride + 1;
  return {in, out, window, stride, dilation, before};
}

TEST(VectorUnfold, AProductWithItIsAConvolution) {
  const Windows cases[] = {{axis(1, 1, 1, 1, 0, 0), axis(1, 1, 1, 1, 0, 0)},
                           {axis(7, 3, 1, 1, 1, 1), axis(7, 3, 1, 1, 1, 1)},
                           {axis(9, 3, 2, 1, 1, 1), axis(17, 3, 2, 1, 1, 1)},
                           {axis(20, 7, 2, 1, 3, 3), axis(60, 7, 2, 1, 3, 3)},
                           {axis(5, 2, 1, 2, 0, 3), axis(6, 4, 3, 3, 5, 2)},
                           {axis(1, 1, 1, 1, 0, 0), axis(100, 5, 1, 1, 2, 2)}};
  Team team(2);
  for (const Isa isa : isas())
    for (const Windows& w : cases) {
      const int64_t channels = 5, outputs = 9, taps = w.y.window * w.x.window,
                    places = w.y.out * w.x.out;
      const std::vector<float> x = random_floats(channels * w.y.in * w.x.in),
                               weights = random_floats(outputs * channels * taps, -1, 1, 2);
      std::vector<float> y(static_cast<size_t>(outputs * places));
      const Unfold context{x.data(), w};
      multiply({.rows = outputs,
                .columns = places,
                .inner = channels * taps,
                .a = {weights.data(), channels * taps, 1},
                .read_b = unfold(isa),
                .read_context = &context,
                .c = y.data(),
                .c_row = places},
               gemm(isa), team);
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t p = 0; p < places; ++p) {
          double want = 0;
          for (int64_t k = 0; k < channels * taps; ++k) {
            const int64_t row = p / w.x.out * w.y.stride - w.y.before +
                                k / w.x.window % w.y.window * w.y.dilation,
                          column =
                              p % w.x.out * w.x.stride - w.x.before + k % w.x.window * w.x.dilation;
            if (row < 0 || row >= w.y.in || column < 0 || column >= w.x.in) continue;
            want += static_cast<double>(weights[static_cast<size_t>(o * channels * taps + k)]) *
                    static_cast<double>(
                        x[static_cast<size_t>((k / taps * w.y.in + row) * w.x.in + column)]);
          }
          ASSERT_NEAR(y[static_cast<size_t>(o * places + p)], want, 1e-4)
              << name_of(isa) << " " << o << " " << p;
        }
    }
}

}  // namespace
}  // namespace rlx::vector
