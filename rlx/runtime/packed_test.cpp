// Weights that the CPU's kernels have in an order of their own.
#include <gtest/gtest.h>

#include "rlx/ops/ops_core.h"
#include "rlx/runtime/program.h"

namespace rlx {
namespace {

constexpr int64_t kRows = 64, kSize = 96;

Graph product_graph(const Tensor& weight) {
  Graph graph;
  const Value x = graph.input("x", {DType::f32, {kRows, kSize}});
  graph.output("y", matmul(x, graph.weight("w", weight)));
  return graph;
}

Tensor filled(double value) {
  Tensor tensor(DType::f32, {kSize, kSize});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, value);
  return tensor;
}

Tensor ones() {
  Tensor tensor(DType::f32, {kRows, kSize});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 1);
  return tensor;
}

struct Ran {
  double first;
  int64_t packed_bytes;
};
Ran run(Program& program) {
  RunReport report;
  const RunResult result = program.run({{"x", ones()}}, {.report = &report});
  return {result.tensors.at("y").at(0), report.packed_bytes};
}

TEST(Packed, TwoProgramsOfADeviceShareThem) {
  const Device device;
  const Graph graph = product_graph(filled(0.5));
  Program a = compile(graph, {.device = device});
  const int64_t once = run(a).packed_bytes;
  EXPECT_GE(once, kSize * kSize * 4);
  {
    Program b = compile(graph, {.device = device});
    EXPECT_EQ(run(b).packed_bytes, once);
    Program other = compile(product_graph(filled(1)), {.device = device});
    EXPECT_EQ(run(other).packed_bytes, 2 * once);
  }
  EXPECT_EQ(run(a).packed_bytes, once);
}

TEST(Packed, ANewWeightIsPackedAgainInThePlaceOfTheOld) {
  const Device device;
  Program program = compile(product_graph(filled(0.5)), {.device = device});
  const Ran before = run(program);
  EXPECT_EQ(before.first, kSize * 0.5);
  program.set_weight("w", filled(2));
  const Ran after = run(program);
  EXPECT_EQ(after.first, kSize * 2.0);
  EXPECT_EQ(after.packed_bytes, before.packed_bytes);
}

}  // namespace
}  // namespace rlx
