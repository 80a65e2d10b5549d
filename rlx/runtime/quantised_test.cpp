// On the CPU no call of a quantised weight is left to the reference.
#include <gtest/gtest.h>

#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Tensor encoded(const Shape& shape, const char* format) {
  Tensor values(DType::f32, shape);
  for (int64_t i = 0; i < values.count(); ++i)
    values.set(i, static_cast<double>(i * 37 % 101 - 50) / 50);
  return encode_blocks(values, block_format(format));
}
Tensor ramp(DType dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i * 29 % 97 - 48) / 32);
  return x;
}

// What ran the only call of a graph.
std::string implementation_of(const Graph& graph, const TensorMap& inputs) {
  const Program program = compile(graph);
  RunReport report;
  RunOptions options;
  options.report = &report;
  program.run(inputs, options);
  std::string all;
  for (const auto& step : report.host_steps) all += step.implementation + ";";
  return all;
}

constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};

TEST(QuantisedCalls, ProductsOfAnyFloatsTakeNoReference) {
  for (const DType dtype : kFloats)
    for (const int64_t rows : {1, 3, 20})
      for (const char* format : {"q4_k", "fp8_e4m3", "tq1_0"}) {
        SCOPED_TRACE(name(dtype));
        Graph graph;
        const Tensor x = ramp(dtype, {rows, 256}), w = encoded({7, 256}, format);
        graph.output("y",
                     quantised_matmul(graph.input("x", x.type()), graph.weight("w", w), format));
        EXPECT_EQ(implementation_of(graph, {{"x", x}}),
                  dtype == DType::f32 ? "vector;" : "vector in f32;");
      }
}

TEST(QuantisedCalls, BlocksOfAnySizeTakeNoReference) {
  constexpr int64_t kBlock = 8192;
  Tensor values(DType::f32, {7, kBlock});
  for (int64_t i = 0; i < values.count(); ++i) values.set(i, static_cast<double>(i % 15 - 7));
  const Tensor w = encode_blocks(values, block_format("int4_block", kBlock));
  for (const int64_t rows : {1, 3, 20}) {
    Graph graph;
    const Tensor x = Tensor::of(DType::f32, {rows, kBlock},
                                std::vector<double>(static_cast<size_t>(rows * kBlock), 1));
    const Value in = graph.input("x", x.type());
    graph.output("y", quantised_matmul(in, graph.weight("w", w), "int4_block", kBlock));
    EXPECT_EQ(implementation_of(graph, {{"x", x}}), "vector;");
    const Tensor y = compile(graph).run({{"x", x}})["y"];
    for (int64_t i = 0; i < y.count(); ++i) {
      double sum = 0;
      for (int64_t k = 0; k < kBlock; ++k) sum += values.at(i % 7 * kBlock + k);
      EXPECT_EQ(y.at(i), sum) << rows << " rows, " << i;
    }
  }
}

TEST(QuantisedCalls, ProductsOfExpertsTakeNoReference) {
  for (const DType dtype : kFloats) {
    SCOPED_TRACE(name(dtype));
    Graph graph;
    const Tensor x = ramp(dtype, {5, 64}), w = encoded({3, 7, 64}, "q8_0");
    const Tensor expert = Tensor::of(DType::i32, {5}, {0, 2, 2, 1, 0});
    graph.output("y", grouped_matmul(graph.input("x", x.type()), graph.weight("w", w),
                                     graph.input("expert", expert.type()), "q8_0"));
    EXPECT_EQ(implementation_of(graph, {{"x", x}, {"expert", expert}}),
              dtype == DType::f32 ? "vector;" : "vector in f32;");
  }
}

TEST(QuantisedCalls, RowsOfATableTakeNoReference) {
  for (const DType dtype : kFloats) {
    SCOPED_TRACE(name(dtype));
    Graph graph;
    const Tensor ids = Tensor::of(DType::i64, {3}, {0, 6, -1}), w = encoded({7, 256}, "q6_k");
    const Value table = graph.weight("w", w);
    graph.output(
        "y", table.apply(*catalog().at("quantised_gather"), {table, graph.input("ids", ids.type())},
                         {{"format", "q6_k"}, {"dtype", dtype}}));
    EXPECT_EQ(implementation_of(graph, {{"ids", ids}}),
              dtype == DType::f32 ? "vector;" : "vector in f32;");
  }
}

TEST(QuantisedCalls, BytesWithScalesBesideThemTakeNoReference) {
  for (const DType dtype : kFloats)
    for (const bool with_zeros : {false, true}) {
      SCOPED_TRACE(name(dtype));
      Graph graph;
      const Tensor x = ramp(dtype, {2, 64});
      Tensor w(DType::i8, {7, 64}), scales(DType::f32, {7, 2}), zeros(DType::i8, {7, 2});
      for (int64_t i = 0; i < w.count(); ++i) w.set_integer(i, i % 200 - 100);
      for (int64_t i = 0; i < scales.count(); ++i) scales.set(i, 0.25), zeros.set_integer(i, i - 5);
      const Value none, bytes = graph.weight("w", w), of = graph.weight("scales", scales);
      graph.output("y", quantised_matmul(graph.input("x", x.type()), bytes, of, 32,
                                         with_zeros ? graph.weight("zeros", zeros) : none));
      EXPECT_EQ(implementation_of(graph, {{"x", x}}).find("reference"), std::string::npos)
          << implementation_of(graph, {{"x", x}});
    }
}

}  // namespace
}  // namespace rlx
