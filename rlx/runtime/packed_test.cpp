// Weights that the CPU's kernels have in an order of their own.
#include <gtest/gtest.h>

#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_attention.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_integer.h"
#include "rlx/ops/ops_recurrent.h"
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

// What a weight of some bytes takes when two programs have it, and when the first is alone.
void expect_shared(const Graph& graph, const Tensor& x, int64_t least) {
  const Device device;
  const auto packed_by = [&](const Program& program) {
    RunReport report;
    program.run({{"x", x}}, {.report = &report});
    return report.packed_bytes;
  };
  const Program a = compile(graph, {.device = device});
  const int64_t once = packed_by(a);
  EXPECT_GE(once, least);
  const Program b = compile(graph, {.device = device});
  EXPECT_EQ(packed_by(b), once);
}

TEST(Packed, ProductsOfBytesShareThemToo) {
  Graph graph;
  const Tensor x(DType::u8, {kRows, kSize});
  graph.output("y", matmul_integer(graph.input("x", x.type()),
                                   graph.weight("w", Tensor(DType::i8, {kSize, kSize}))));
  expect_shared(graph, x, kSize * kSize);
}

TEST(Packed, RecurrentNetsShareThemToo) {
  constexpr int64_t kHidden = 16, kWide = 4 * kHidden;
  Graph graph;
  const Tensor x(DType::f32, {5, 2, kSize});
  graph.output("y", lstm(graph.input("x", x.type()),
                         graph.weight("w", Tensor(DType::f32, {1, kWide, kSize})),
                         graph.weight("r", Tensor(DType::f32, {1, kWide, kHidden})))[0]);
  expect_shared(graph, x, kWide * (kSize + kHidden) * 4);
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

// ---- Of a weight that a run takes a part of ----------------------------------------------------

using Multiply = Value (*)(Value a, Value b);
struct Bytes {
  DType dtype;
  Multiply multiply;
};
class PackedPart : public testing::TestWithParam<Bytes> {
 protected:
  // Column c of the weight has the number c % 32.
  Tensor weight() const {
    Tensor tensor(GetParam().dtype, {kSize, kSize});
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i % kSize % 32));
    return tensor;
  }
  Tensor rows() const {
    Tensor tensor(GetParam().dtype, {kRows, kSize});
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 1);
    return tensor;
  }
  Value x(Graph& graph) const { return graph.input("x", {GetParam().dtype, {kRows, kSize}}); }
};
INSTANTIATE_TEST_SUITE_P(
    Products, PackedPart,
    testing::Values(Bytes{DType::f32, [](Value a, Value b) { return matmul(a, b); }},
                    Bytes{DType::i8, [](Value a, Value b) { return matmul_integer(a, b); }}),
    [](const auto& test) { return std::string(name(test.param.dtype)); });

Tensor integer(int64_t value) { return Tensor::of(DType::i64, {1}, {static_cast<double>(value)}); }

TEST_P(PackedPart, FollowsItsExtentAndWhereItBegins) {
  Graph graph;
  const Value part = slice(graph.weight("w", weight()), graph.input("begin", i64({1})),
                           graph.input("end", i64({1})), {1});
  graph.output("y", GetParam().multiply(x(graph), part));
  const Program program = compile(graph);
  const int64_t ends[][2] = {{0, 8}, {8, 16}, {0, 40}, {3, 5}, {0, 96}};
  for (const auto& [begin, end] : ends) {
    const Tensor y =
        program.run({{"x", rows()}, {"begin", integer(begin)}, {"end", integer(end)}}).at("y");
    ASSERT_EQ(y.shape(), (Shape{kRows, end - begin}));
    for (int64_t i = 0; i < y.count(); ++i)
      ASSERT_EQ(y.at(i), static_cast<double>((begin + i % (end - begin)) % 32 * kSize))
          << "element " << i << " of columns " << begin << " to " << end;
  }
}

TEST_P(PackedPart, FollowsTheIterationOfALoop) {
  Graph body;
  const Value i = body.input("i", i64({})), inside = x(body);
  const Value w = body.input("w", {GetParam().dtype, {kSize, kSize}});
  const Value eight = body.constant(Tensor::of(DType::i64, {1}, {8}));
  const Value begin = reshape(i, Dims{1}) * eight;
  const Value product = GetParam().multiply(inside, slice(w, begin, begin + eight, {1}));
  body.output("y", sum(product, {0, 1}));
  Graph graph;
  const Value all = loop(graph.input("count", i64({})), {}, std::move(body),
                         {.captured = {x(graph), graph.weight("w", weight())}})[0];
  graph.output("y", all);
  const Tensor y =
      compile(graph).run({{"x", rows()}, {"count", Tensor::scalar(DType::i64, 3)}}).at("y");
  for (int64_t at = 0; at < 3; ++at)
    EXPECT_EQ(y.at(at), static_cast<double>((at * 64 + 28) * kSize * kRows)) << at;
}

// ---- Of weights that are inputs ----------------------------------------------------------------

TEST(Packed, ARecurrentNetTakesAWeightThatWasWrittenThroughASpan) {
  Graph graph;
  const Value x = graph.input("x", f32({1, 1, 4})), w = graph.input("w", f32({1, 4, 4}));
  graph.output("y", rnn(x, w, graph.weight("r", Tensor(DType::f32, {1, 4, 4})))[0]);
  const Program program = compile(graph);
  TensorMap inputs{{"x", Tensor::of(DType::f32, {1, 1, 4}, {1, 0, 0, 0})},
                   {"w", Tensor(DType::f32, {1, 4, 4})}};
  const std::span<float> kept = inputs["w"].mutable_data<float>();
  EXPECT_EQ(program.run(inputs).at("y").at(0), 0);
  kept[0] = 100;
  EXPECT_EQ(program.run(inputs).at("y").at(0), 1);
}

TEST(Packed, ProgramsWithThreadsOfTheirOwnShareThemToo) {
  const Device device;
  const Graph graph = product_graph(filled(0.5));
  Program a = compile(graph, {.device = device});
  const int64_t once = run(a).packed_bytes;
  Program one = compile(product_graph(filled(1)), {.device = device, .threads = 1});
  EXPECT_EQ(run(one).packed_bytes, 2 * once);
  Program two = compile(graph, {.device = device, .threads = 2});
  EXPECT_EQ(run(two).packed_bytes, 2 * once);
  EXPECT_EQ(run(two).first, kSize * 0.5);
}

// Sums along an axis, and softmax, are computed on f32.
TEST(Packed, WhatIsHeldAsFloatsOfHalvesIsCountedAndDoesNotGrow) {
  const auto widened = [](DType dtype) {
    Graph graph;
    const Value x = graph.input("x", {dtype, {Dim("n"), Dim(40)}});
    graph.output("y", softmax(graph.add(catalog().at("cumsum"), {x}, {{"axis", int64_t{1}}})));
    const Device device;
    const Program program = compile(graph, {.device = device});
    std::vector<int64_t> bytes;
    for (const int64_t n : {64, 64, 8}) {
      RunReport report;
      program.run({{"x", Tensor(dtype, {n, 40})}}, {.report = &report});
      bytes.push_back(report.widened_bytes);
    }
    return bytes;
  };
  EXPECT_EQ(widened(DType::f32), (std::vector<int64_t>{0, 0, 0}));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const std::vector<int64_t> bytes = widened(dtype);
    EXPECT_GE(bytes[0], 64 * 40 * 4);
    EXPECT_EQ(bytes[1], bytes[0]);
    EXPECT_LE(bytes[2], 2 * bytes[0]);
  }
}

TEST(Packed, WeightsThatAreKeptAsFloatsAreCountedAndGoWithTheirProgram) {
  const Device device;
  const auto bytes_of = [&](int64_t rows) {
    Graph graph;
    graph.output("z", attention(graph.weight("q", Tensor(DType::f16, {1, 1, rows, 32})),
                                graph.input("k", {DType::f16, {1, 1, 4, 32}}),
                                graph.input("v", {DType::f16, {1, 1, 4, 32}})));
    const Program program = compile(graph, {.device = device});
    RunReport report;
    program.run(
        {{"k", Tensor(DType::f16, {1, 1, 4, 32})}, {"v", Tensor(DType::f16, {1, 1, 4, 32})}},
        {.report = &report});
    return report.widened_bytes;
  };
  const int64_t few = bytes_of(64), many = bytes_of(4096);
  EXPECT_GE(many - few, (4096 - 64) * 32 * 4);
  EXPECT_LT(bytes_of(64), many);
}

}  // namespace
}  // namespace rlx
