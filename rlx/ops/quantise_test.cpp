#include <gtest/gtest.h>

#include <cmath>

#include "rlx/autodiff/gradient.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_fake_quantise.h"
#include "rlx/ops/ops_quantise.h"
#include "rlx/ops/testing.h"

namespace rlx {
namespace {

Tensor f32_of(Shape shape, std::initializer_list<double> values) {
  return Tensor::of(DType::f32, std::move(shape), values);
}
TEST(Quantise, RoundsHalvesToEvenAndSaturates) {
  const Tensor x = f32_of({7}, {0.5, 1.5, -0.5, 300, -300, NAN, 5}), scale = f32_of({}, {1});
  const Tensor zero = Tensor::scalar(DType::u8, 128);
  EXPECT_EQ(elements({x, scale, zero}, [](const Values& v) { return quantise(v[0], v[1], v[2]); }),
            (Numbers{128, 130, 128, 255, 0, 128, 133}));
  EXPECT_EQ(elements({x, scale},
                     [](const Values& v) { return quantise(v[0], v[1], {}, {.to = DType::i8}); }),
            (Numbers{0, 2, 0, 127, -128, 0, 5}));
}

TEST(Quantise, ScalesGoWithAnAxisOrItsBlocks) {
  const Tensor x = f32_of({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto axis = [](const Values& v) { return quantise(v[0], v[1], {}, {.axis = 1}); };
  EXPECT_EQ(elements({x, f32_of({3}, {1, 2, 3})}, axis), (Numbers{1, 1, 1, 4, 2, 2}));
  const auto rows = [](const Values& v) { return quantise(v[0], v[1], {}, {.axis = 0}); };
  EXPECT_EQ(elements({x, f32_of({2}, {1, 2})}, rows), (Numbers{1, 2, 3, 2, 2, 3}));
  const auto blocks = [](const Values& v) {
    return quantise(v[0], v[1], {}, {.axis = 1, .block = 2});
  };
  EXPECT_EQ(elements({x, f32_of({2, 2}, {1, 3, 2, 6})}, blocks), (Numbers{1, 2, 1, 2, 2, 1}));
  const auto whole = [](const Values& v) {
    return dequantise(v[0], v[1], {}, {.axis = 1, .block = 3});
  };
  EXPECT_EQ(
      elements({Tensor::of(DType::u8, {2, 3}, {1, 2, 3, 4, 5, 6}), f32_of({2, 1}, {1, 10})}, whole),
      (Numbers{1, 2, 3, 40, 50, 60}));
}

TEST(Quantise, DequantiseTakesTheZeroPointOff) {
  const Tensor x = Tensor::of(DType::u8, {3}, {0, 128, 255});
  EXPECT_EQ(elements({x, f32_of({}, {0.5}), Tensor::scalar(DType::u8, 128)},
                     [](const Values& v) { return dequantise(v[0], v[1], v[2]); }),
            (Numbers{-64, 0, 63.5}));
}

// The example of ONNX's DynamicQuantizeLinear.
TEST(Quantise, DynamicQuantiseFindsScaleAndZeroPoint) {
  const Tensor x = f32_of({6}, {0, 2, -3, -2.5, 1.34, 0.5});
  EXPECT_EQ(elements({x}, [](const Values& v) { return dynamic_quantise(v[0]).y; }),
            (Numbers{153, 255, 0, 26, 221, 179}));
  EXPECT_EQ(elements({x}, [](const Values& v) { return dynamic_quantise(v[0]).zero_point; }),
            (Numbers{153}));
  EXPECT_NEAR(elements({x}, [](const Values& v) { return dynamic_quantise(v[0]).scale; })[0],
              0.0196078438, 1e-9);
}

TEST(FakeQuantise, ItsGradientIsStraightThroughWithinTheRange) {
  const Tensor x = f32_of({4}, {0.3, 1.2, 5, -9}), scale = f32_of({}, {0.5});
  EXPECT_EQ(elements({x, scale}, [](const Values& v) { return fake_quantise(v[0], v[1], 4); }),
            (Numbers{0.5, 1, 3.5, -4}));
  const auto dx = [](const char* estimator, size_t of) {
    return [=](const Values& v) {
      return gradient(sum(fake_quantise(v[0], v[1], 4, estimator)), {v[of]})[0];
    };
  };
  EXPECT_EQ(elements({x, scale}, dx("clipped", 0)), (Numbers{1, 1, 0, 0}));
  EXPECT_EQ(elements({x, scale}, dx("plain", 0)), (Numbers{1, 1, 1, 1}));
  EXPECT_NEAR(elements({x, scale}, dx("clipped", 1))[0], (1 - 0.6) + (2 - 2.4) + 7 - 8, 1e-6);
}

TEST(FakeQuantise, SmoothEstimatorsLetLessThroughTheFurtherOut) {
  const Tensor x = f32_of({4}, {0, 0.5, 1.75, -9}), scale = f32_of({}, {0.5});
  const auto dx = [&](const char* estimator) {
    return elements({x, scale}, [=](const Values& v) {
      return gradient(sum(fake_quantise(v[0], v[1], 4, estimator)), {v[0]})[0];
    });
  };
  const Numbers smooth = dx("tanh");
  for (const auto& [i, steps] : {std::pair<size_t, double>{0, 0}, {1, 1}, {2, 3.5}, {3, -18}})
    EXPECT_NEAR(smooth[i], 1 - std::tanh(steps) * std::tanh(steps), 1e-6) << i;
  const Numbers line = dx("hard_tanh");  // the largest step is 7
  EXPECT_NEAR(line[1], 1 - 1.0 / 7, 1e-6);
  EXPECT_NEAR(line[2], 0.5, 1e-6);
  EXPECT_EQ(line[0], 1);
  EXPECT_EQ(line[3], 0);
}

using Scale = FakeQuantiseOptions::Scale;

TEST(FakeQuantise, AScaleOfTheBatchReachesTheLargestOfEachChannel) {
  const Tensor x = f32_of({2, 3}, {1, -2, 4, 0, 0, 0});
  const auto scales = [&](std::optional<int64_t> axis) {
    return elements(
        {x}, [=](const Values& v) { return fake_quantise(v[0], {.axis = axis, .bits = 4}).scale; });
  };
  EXPECT_EQ(scales({}), (Numbers{static_cast<float>(4.0 / 7)}));
  const Numbers rows = scales(0), columns = scales(-1);
  EXPECT_NEAR(rows[0], 4.0 / 7, 1e-7);
  EXPECT_EQ(rows[1], 1) << "a channel of zeros has any scale but 0";
  EXPECT_NEAR(columns[1], 2.0 / 7, 1e-7);
  EXPECT_EQ(elements({x},
                     [](const Values& v) {
                       return gradient(sum(fake_quantise(v[0], {.bits = 4}).y), {v[0]})[0];
                     }),
            (Numbers{1, 1, 1, 1, 1, 1}))
      << "the scale passes no gradient on";
}

TEST(FakeQuantise, AMovingAverageStartsWithTheFirstBatch) {
  const Tensor x = f32_of({2}, {3.5, -7});
  const auto next = [&](double before) {
    return elements({x, f32_of({}, {before})}, [](const Values& v) {
      return fake_quantise(
                 v[0], {.by = Scale::moving_average, .scale = v[1], .momentum = 0.75, .bits = 4})
          .scale;
    })[0];
  };
  EXPECT_EQ(next(0), 1);
  EXPECT_EQ(next(3), 0.75 * 3 + 0.25);
}

// Esser et al., Learned step size quantization: the gradient of a step is scaled by 1 / sqrt(n Qp).
TEST(FakeQuantise, OnlyALearnedScaleHasAGradient) {
  const Tensor x = f32_of({2, 2}, {0.3, 1.2, 5, -9}), scale = f32_of({2}, {0.5, 0.5});
  const auto d_scale = [&](Scale by) {
    return elements({x, scale}, [=](const Values& v) {
      const FakeQuantised made =
          fake_quantise(v[0], {.by = by, .scale = v[1], .axis = 0, .bits = 4});
      return gradient(sum(made.y), {v[1]})[0];
    });
  };
  const Numbers learned = d_scale(Scale::learned);
  EXPECT_NEAR(learned[0], ((1 - 0.6) + (2 - 2.4)) / std::sqrt(2 * 7.0), 1e-6);
  EXPECT_NEAR(learned[1], (7 - 8) / std::sqrt(2 * 7.0), 1e-6);
  EXPECT_EQ(d_scale(Scale::fixed), (Numbers{0, 0}));
}

TEST(Quantise, ErrorsNameTheOpTheValueAndTheLimit) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3})), i = graph.input("i", {DType::i8, {2, 3}}),
              scale = graph.input("scale", f32({4})), one = graph.input("one", f32({}));
  EXPECT_EQ(error_of([&] { quantise(x, one, {}, {.to = DType::i32}); }),
            "quantise: makes i8, u8, i16 or u16, not i32");
  EXPECT_EQ(error_of([&] { quantise(x, scale); }),
            "quantise: cannot broadcast [4] to [2, 3]: 4 and 3");
  EXPECT_EQ(error_of([&] { quantise(x, one, {}, {.axis = 1, .block = 2}); }),
            "quantise: f32[] does not hold one for each block of 2 along axis 1 of f32[2, 3]");
  EXPECT_EQ(error_of([&] { dequantise(x, one); }),
            "dequantise: takes i8, u8, i16, u16 or i32, got f32[2, 3]");
  EXPECT_EQ(error_of([&] {
              dequantise(i, one, graph.input("z", {DType::u8, {}}));
            }),
            "dequantise: zero_point is u8[], it needs to be i8");
  EXPECT_EQ(error_of([&] { fake_quantise(x, one, 32); }),
            "fake_quantise: 32 bits are not in [2, 16]");
  EXPECT_EQ(
      error_of([&] { fake_quantise(x, one, 8, "sine"); }),
      "fake_quantise: there is no estimator 'sine'; it takes plain, clipped, tanh, hard_tanh");
  EXPECT_EQ(quantise(graph.input("s", f32({"n", 3})), one).shape(), (Dims{"n", 3}));
}

}  // namespace
}  // namespace rlx
