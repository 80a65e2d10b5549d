// dft, stft and cosine_window: values by hand, and what a wrong call says.
#include <gtest/gtest.h>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_signal.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

using Numbers = std::vector<double>;

Numbers result(const Tensor& x, const std::function<Value(Value)>& f) {
  Graph graph;
  graph.output("y", f(graph.constant(x)));
  const Tensor y = evaluate(graph, {}).outputs.at("y");
  Numbers numbers;
  for (int64_t i = 0; i < y.count(); ++i) numbers.push_back(y.at(i));
  return numbers;
}

TEST(Dft, OfAnImpulseIsOne) {
  const Tensor impulse = Tensor::of(DType::f32, {1, 4, 1}, {1, 0, 0, 0});
  EXPECT_EQ(result(impulse, [](Value x) { return dft(x, 1); }), (Numbers{1, 0, 1, 0, 1, 0, 1, 0}));
}

// The sums are exact: what cancels leaves nothing behind.
TEST(Dft, WhatShouldBeZeroIsZero) {
  const Tensor x = Tensor::of(DType::f32, {1, 4, 1}, {1, 2, 3, 4});
  EXPECT_EQ(result(x, [](Value v) { return dft(v, 1, {.onesided = true}); }),
            (Numbers{10, 0, -2, 2, -2, 0}));
  EXPECT_EQ(result(x, [](Value v) { return dft(dft(v, 1), 1, {.inverse = true}); }),
            (Numbers{1, 0, 2, 0, 3, 0, 4, 0}));
}

TEST(Dft, ALengthCutsOrAddsZeros) {
  const Tensor x = Tensor::of(DType::f32, {1, 3, 1}, {1, 2, 3});
  EXPECT_EQ(result(x, [](Value v) { return dft(v, 1, {.length = 2}); }), (Numbers{3, 0, -1, 0}));
  EXPECT_EQ(result(x, [](Value v) { return dft(v, 1, {.length = 4}); }),
            (Numbers{6, 0, -2, -2, 2, 0, -2, 2}));
}

TEST(Dft, ErrorsNameWhatIsWrong) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 8, 3})), n = graph.input("n", f32({1, "n", 1}));
  EXPECT_EQ(
      error_of([&] { dft(x, 1); }),
      "dft: x is f32[1, 8, 3], it needs floats whose last dim is 1, or 2 if they are complex");
  EXPECT_EQ(error_of([&] { dft(n, 1); }), "dft: the number of samples must be known, it is n");
  EXPECT_EQ(error_of([&] { dft(n, 2); }),
            "dft: axis 2 of f32[1, n, 1] is that of the parts of a number");
}

TEST(Stft, IsTheDftOfEachFrame) {
  const Tensor x = Tensor::of(DType::f32, {1, 5, 1}, {1, 2, 3, 4, 5});
  EXPECT_EQ(result(x, [](Value v) { return stft(v, 3, 2); }), (Numbers{3, 0, -1, 0, 9, 0, -1, 0}));
  EXPECT_EQ(error_of([&] { result(x, [](Value v) { return stft(v, 0, 2); }); }),
            "stft: frames of 2 every 0 cannot be");
}

TEST(Istft, OfAnStftIsTheSignalForAnyStep) {
  for (const int64_t length : {8, 9, 15, 16})
    for (const int64_t step : {1, 3, 5, 7}) {
      SCOPED_TRACE(text("frames of ", length, " every ", step));
      const int64_t samples = length + 6 * step;
      Tensor x(DType::f32, {1, samples, 1});
      for (int64_t i = 0; i < samples; ++i)
        x.set(i, static_cast<double>(i * 37 % 19) - 9 + 0.125 * static_cast<double>(i % 3));
      const Numbers back = result(x, [&](Value v) {
        const Value hamming = window(v, "hamming", length);
        return istft(stft(v, step, length, hamming), step, length, hamming);
      });
      ASSERT_EQ(back.size(), static_cast<size_t>(samples));
      for (int64_t i = 0; i < samples; ++i) EXPECT_NEAR(back[size_t(i)], x.at(i), 2e-5) << i;
    }
}

TEST(CosineWindow, EndsWhereItBeganIfItIsSymmetric) {
  Tensor size(DType::i64, {});
  size.set_integer(0, 3);
  const auto hann = [&](bool periodic) {
    return result(size, [&](Value n) { return cosine_window(n, {0.5, 0.5}, periodic); });
  };
  EXPECT_EQ(hann(false), (Numbers{0, 1, 0}));
  EXPECT_NEAR(hann(true)[1], 0.75, 1e-6);
  EXPECT_EQ(error_of([&] {
              result(Tensor(DType::i64, {2}), [](Value n) { return cosine_window(n, {1}); });
            }),
            "cosine_window: the size must be one integer, got i64[2]");
}

}  // namespace
}  // namespace rlx
