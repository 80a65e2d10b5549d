#include <gtest/gtest.h>

#include "rlx/vector/conv_testing.h"

namespace rlx::vector {
namespace {

ConvSize size_of(int64_t batch, Windows::Axis y, Windows::Axis x, int64_t channels) {
  return {batch, {y, x}, channels, channels, channels};
}
const ConvSize kSizes[] = {
    size_of(2, same(14, 3), same(15, 3), 40),
    size_of(1, same(7, 3), same(7, 3), 96),
    size_of(1, same(17, 3, 2), same(70, 3, 2), 32),
    size_of(1, axis(9, 3, 2, 1, 0, 1), axis(12, 3, 2, 1, 0, 1), 17),
    size_of(1, same(13, 5), same(12, 5), 24),
    size_of(1, same(13, 5, 2), same(29, 5, 2), 33),
    size_of(1, same(9, 7), same(9, 7), 20),
    size_of(1, axis(15, 3, 1, 2, 2, 2), axis(17, 3, 2, 3, 3, 3), 19),
    size_of(1, axis(9, 2, 3, 1, 1, 0), axis(10, 4, 1, 1, 0, 3), 5),
    size_of(1, axis(3, 7, 1, 1, 3, 3), axis(3, 7, 1, 1, 3, 3), 3),
    size_of(1, axis(1, 1), same(300, 31), 6),
    size_of(1, axis(2, 3, 1, 1, 5, 5), axis(2, 3, 1, 1, 5, 5), 3),  // padding alone
    size_of(1, axis(1, 1), axis(1, 1), 1),
    size_of(3, axis(4, 4), axis(4, 4), 70),
    size_of(1, same(6, 3), same(50, 3), 203),
};

TEST(VectorDepthwise, EveryInstructionSetAgreesWithSumsOfDoubles) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Isa isa : isas()) {
      const ConvResult got = convolve(example.conv(), example, depthwise(isa), 1);
      EXPECT_LT(example.error_of(got.y.data(), size.outputs + kBeyond), 1e-6)
          << name_of(isa) << " " << size;
      EXPECT_TRUE(got.is_within) << name_of(isa) << " " << size;
    }
  }
}

TEST(VectorDepthwise, TheNumberOfThreadsChangesNoBit) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Isa isa : {Isa::baseline, best_isa()})
      EXPECT_EQ(convolve(example.conv(), example, depthwise(isa), 1).y,
                convolve(example.conv(), example, depthwise(isa), 3).y)
          << name_of(isa) << " " << size;
  }
}

TEST(VectorDepthwise, EveryElementIsFinishedOnceWhenItsSumIsWhole) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    std::vector<float> want = convolve(example.conv(), example, depthwise(best_isa()), 1).y;
    Negate::negate(want);
    EXPECT_EQ(convolve(example.conv(), example, depthwise(best_isa()), 2, Negate::finish).y, want)
        << size;
  }
}

TEST(VectorDepthwise, SumsMayBeginWithWhatIsThere) {
  for (const ConvSize& size : kSizes) {
    const ConvExample example(size);
    for (const Isa isa : isas()) {
      const ConvFunctions code = depthwise(isa);
      std::vector<float> packed(static_cast<size_t>(code.packed_size(size))),
          y(static_cast<size_t>(size.pixels() * size.outputs));
      code.pack(size, example.weights.data(), {0, code.panels(size)}, packed.data());
      for (size_t i = 0; i < y.size(); ++i)
        y[i] = example.bias[i % static_cast<size_t>(size.outputs)];
      Conv conv = example.conv();
      conv.weights = packed.data();
      conv.y = y.data();
      conv.y_pixel = size.outputs;
      conv.start = y.data();
      conv.start_pixel = size.outputs;
      const ConvBlocks blocks = code.blocks(conv, 1);
      for (int64_t i = 0; i < blocks.count(); ++i) code.run(conv, blocks, i, nullptr);
      EXPECT_LT(example.error_of(y.data(), size.outputs), 1e-6) << name_of(isa) << " " << size;
    }
  }
}

TEST(VectorDepthwise, OtherGroupsAreRefused) {
  ConvSize size = size_of(1, same(4, 3), same(4, 3), 8);
  EXPECT_TRUE(depthwise(best_isa()).accepts({.size = size, .x_channel = 1}));
  EXPECT_FALSE(depthwise(best_isa()).accepts({.size = size, .x_channel = 16}));
  size.outputs = 16;
  EXPECT_FALSE(depthwise(best_isa()).accepts({.size = size, .x_channel = 1}));
}

}  // namespace
}  // namespace rlx::vector
