// Convolutions by Winograd's products on the CPU: what turns them off, what they cost, and how far
// they are from the sums themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rlx/ir/evaluate.h"
#include "rlx/ops/catalog.h"
#include "rlx/runtime/program.h"
#include "rlx/vector/isa.h"

namespace rlx {
namespace {

constexpr int64_t kChannels = 48, kExtent = 20;
// Of the packed weights of one convolution.
constexpr int64_t kPointBytes = kChannels * kChannels * 4, kDirectBytes = 9 * kPointBytes,
                  kWinogradBytes = 36 * kPointBytes;

Tensor random(const Shape& shape, uint32_t seed) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.set(i, static_cast<double>(seed >> 8) / (1 << 23) - 1);
  }
  return tensor;
}

// Two of them, called "first" and "second", behind one of single pixels: planes, which the input
// is, are none for Winograd.
Graph two_convolutions() {
  Graph graph;
  Value x = graph.input("x", {DType::f32, {1, kChannels, kExtent, kExtent}});
  const OpRef conv = catalog().at("conv");
  x = graph.add(conv, {x, graph.weight("w", random({kChannels, kChannels, 1, 1}, 9))}, {});
  for (const char* name : {"first", "second"}) {
    const Tensor weights = random({kChannels, kChannels, 3, 3}, static_cast<uint32_t>(name[0]));
    const Value w = graph.weight(std::string("w_") + name, weights);
    x = graph.add(conv, {x, w}, {{"pads", Ints{1, 1, 1, 1}}}, name);
  }
  graph.output("y", x);
  return graph;
}

struct Ran {
  Tensor y;
  int64_t packed_bytes = 0;  // of the two
};
Ran run(const Graph& graph, const std::map<std::string, int64_t>& choices) {
  Program program = compile(graph, {.threads = 1, .choices = choices});
  RunReport report;
  const RunResult result =
      program.run({{"x", random({1, kChannels, kExtent, kExtent}, 5)}}, {.report = &report});
  return {result.tensors.at("y"), report.packed_bytes - kPointBytes};
}

// The largest difference from the references' sums of doubles, of the largest magnitude.
double error_of(const Graph& graph, const Tensor& got) {
  const Tensor want =
      evaluate(graph, {{"x", random({1, kChannels, kExtent, kExtent}, 5)}}).outputs.at("y");
  double most = 0, largest = 0;
  for (int64_t i = 0; i < want.count(); ++i) {
    most = std::max(most, std::abs(want.at(i) - got.at(i)));
    largest = std::max(largest, std::abs(want.at(i)));
  }
  return most / largest;
}

TEST(Winograd, AChoiceTurnsItOffForAllAndForOne) {
  const Graph graph = two_convolutions();
  EXPECT_EQ(run(graph, {}).packed_bytes, 2 * kWinogradBytes);
  EXPECT_EQ(run(graph, {{"call.conv.winograd", 0}}).packed_bytes, 2 * kDirectBytes);
  EXPECT_EQ(run(graph, {{"call.conv.winograd@second", 0}}).packed_bytes,
            kWinogradBytes + kDirectBytes);
  EXPECT_EQ(run(graph, {{"call.conv.winograd", 0}, {"call.conv.winograd@first", 1}}).packed_bytes,
            kWinogradBytes + kDirectBytes);
  EXPECT_EQ(run(graph, {{"call.conv.winograd@third", 0}}).packed_bytes, 2 * kWinogradBytes);
}

TEST(Winograd, SmallPicturesOfManyChannelsTakeSmallerTiles) {
  constexpr int64_t kMany = 256, kSmall = 7;
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {1, kMany, kSmall, kSmall}}),
              point = graph.weight("point", random({kMany, kMany, 1, 1}, 1)),
              w = graph.weight("w", random({kMany, kMany, 3, 3}, 2));
  const OpRef conv = catalog().at("conv");
  graph.output("y",
               graph.add(conv, {graph.add(conv, {x, point}, {}), w}, {{"pads", Ints{1, 1, 1, 1}}}));
  const TensorMap inputs{{"x", random({1, kMany, kSmall, kSmall}, 3)}};
  const auto run = [&](int64_t winograd) {
    Program program = compile(graph, {.threads = 1, .choices = {{"call.conv.winograd", winograd}}});
    RunReport report;
    const RunResult result = program.run(inputs, {.report = &report});
    return Ran{result.tensors.at("y"), report.packed_bytes / (kMany * kMany * 4)};
  };
  const Ran small = run(1), direct = run(0);
  const bool is_wide =
      vector::best_isa() == vector::Isa::avx512 && !vector::computes_in_halves(vector::best_isa());
  EXPECT_EQ(small.packed_bytes, 1 + (is_wide ? 9 : 16));  // the products there are done sooner
  EXPECT_EQ(direct.packed_bytes, 1 + 9);
  double most = 0, largest = 0;
  for (int64_t i = 0; i < small.y.count(); ++i) {
    most = std::max(most, std::abs(small.y.at(i) - direct.y.at(i)));
    largest = std::max(largest, std::abs(direct.y.at(i)));
  }
  EXPECT_LE(most, 2e-6 * largest);
}

TEST(Winograd, IsAtMostFourTimesAsFarFromTheReferenceAsTheSumsAreAndNearInAnyCase) {
  const Graph graph = two_convolutions();
  const double direct = error_of(graph, run(graph, {{"call.conv.winograd", 0}}).y),
               winograd = error_of(graph, run(graph, {}).y);
  EXPECT_GT(winograd, direct);  // else it is not what ran
  EXPECT_LE(winograd, 4 * direct);
  EXPECT_LE(winograd, 2e-6);
}

}  // namespace
}  // namespace rlx
