// Running sums and products on the CPU: long rows are shared by threads.
#include <gtest/gtest.h>

#include <random>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_cumulative.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

struct Scanned {
  Tensor y;
  std::string implementation;
};
Scanned scanned(const Tensor& x, bool product, bool exclusive, bool reverse, int threads) {
  Graph graph;
  const Value in = graph.input("x", x.type());
  graph.output("y",
               product ? cumprod(in, 0, exclusive, reverse) : cumsum(in, 0, exclusive, reverse));
  const Program program = compile(graph, {.threads = threads});
  RunReport report;
  RunOptions options;
  options.report = &report;
  const Tensor y = program.run({{"x", x}}, options).tensors.at("y");
  return {y, report.host_steps.empty() ? "" : report.host_steps.front().implementation};
}

Tensor numbers(DType dtype, const Shape& shape) {
  std::mt19937 engine(3);
  Tensor x(dtype, shape);
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto bits = static_cast<int64_t>(engine());
    if (is_integer(dtype))
      x.set_integer(i, bits % 200 - (is_signed_integer(dtype) ? 100 : 0));
    else
      x.set(i, static_cast<double>(bits % 10007) / 10007 - 0.3);
  }
  return x;
}

// The first of these has many rows, which threads take one by one; the others are cut.
TEST(ScanThreads, HowManyThereAreChangesNoBit) {
  for (const Shape& shape : {Shape{9000, 7}, Shape{50001}, Shape{20011, 3}})
    for (const DType dtype : {DType::f32, DType::i64, DType::u32, DType::i8, DType::u8})
      for (const bool product : {false, true})
        for (const bool reverse : {false, true}) {
          const Tensor x = numbers(dtype, shape);
          const Scanned one = scanned(x, product, reverse, reverse, 1);
          EXPECT_EQ(one.implementation, "vector") << name(dtype);
          for (const int threads : {2, 5})
            EXPECT_TRUE(same_bytes(one.y, scanned(x, product, reverse, reverse, threads).y))
                << name(dtype) << (product ? " products" : " sums") << " of " << x.type() << " on "
                << threads << " threads";
        }
}

TEST(ScanThreads, PartsOfARowAreJoined) {
  constexpr int64_t kLength = 30011;
  for (const int threads : {1, 4})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true}) {
        const Tensor ones = Tensor::of(DType::i32, {kLength}, std::vector<double>(kLength, 1));
        const Tensor y = scanned(ones, false, exclusive, reverse, threads).y;
        for (int64_t i = 0; i < kLength; ++i)
          ASSERT_EQ(y.at(reverse ? kLength - 1 - i : i), static_cast<double>(i + !exclusive));
        std::vector<double> powers(kLength, 1);
        for (int64_t i = 1000; i < kLength; i += 1000) powers[static_cast<size_t>(i)] = 3;
        const Tensor z =
            scanned(Tensor::of(DType::i64, {kLength}, powers), true, exclusive, reverse, threads).y;
        int64_t wanted = 1;
        for (int64_t n = 0; n < kLength; ++n) {
          const int64_t i = reverse ? kLength - 1 - n : n, before = wanted;
          wanted *= static_cast<int64_t>(powers[static_cast<size_t>(i)]);
          ASSERT_EQ(z.integer_at(i), exclusive ? before : wanted) << i;
        }
      }
}

// A zero before a part whose product is more than a double holds: cut in two, it would be no
// number.
TEST(ScanThreads, ProductsOfFloatsGoOnFromWhatCameBefore) {
  Tensor x = Tensor::of(DType::f32, {20000}, std::vector<double>(20000, 1e30));
  x.set(0, 0);
  const Tensor y = scanned(x, true, false, false, 4).y;
  for (int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.at(i), 0) << i;
}

}  // namespace
}  // namespace rlx
