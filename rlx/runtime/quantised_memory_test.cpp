// Weights in blocks stay blocks: products and rows of tables write their results and nothing else,
// and a device holds the bytes of the blocks and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rlx/conformance/device_test.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/memory_testing.h"
#include "rlx/runtime/program.h"
#include "rlx/tensor/blocks/format.h"

namespace rlx {
namespace {

constexpr int64_t kInner = 256, kColumns = 64, kIds = 2, kRank = 3;
constexpr double kScale = 0.5;
constexpr const char* kSomeFormats[] = {"q8_0", "q4_k", "int4_block_asym", "fp8_e4m3", "tq1_0"};

Tensor waves(const Shape& shape, double step) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, std::sin(step * static_cast<double>(i) + 0.3));
  return tensor;
}
// What is in them does not matter to memory.
Tensor any_blocks(const BlockFormat& format) {
  return Tensor(DType::u8, {kColumns, format.row_bytes(kInner)});
}

Graph table(const BlockFormat& format) {
  Graph graph;
  graph.output("rows", quantised_gather(graph.weight("w", any_blocks(format)),
                                        graph.input("ids", i32({kIds})), std::string(format.name)));
  return graph;
}
Graph product(const BlockFormat& format, int64_t rows) {
  Graph graph;
  graph.output("y",
               quantised_matmul(graph.input("x", f32({rows, kInner})),
                                graph.weight("w", any_blocks(format)), std::string(format.name)));
  return graph;
}
Graph with_adapter(const BlockFormat& format, const Tensor& w, int64_t rows) {
  Graph graph;
  graph.output("y", lora_matmul(graph.input("x", f32({rows, kInner})), graph.weight("w", w),
                                graph.weight("a", waves({kInner, kRank}, 0.11)),
                                graph.weight("b", waves({kRank, kColumns}, 0.23)),
                                std::string(format.name), {.scale = kScale}));
  return graph;
}

// The bytes of each value that a program for this device writes, and of each weight that it reads.
struct Traffic {
  std::vector<int64_t> written, weights;
};
Traffic traffic_of(const Graph& graph, const Device& device) {
  const Image compiled = compile_image(graph, {.device = device, .strict = true});
  const image::Image& image = compiled.data();
  Traffic traffic;
  for (const auto& [value, bytes] : written_bytes(image)) traffic.written.push_back(bytes);
  image::Cells cells = detail::cells_of(image, {});
  cells.evaluate();
  for (const image::Weight& weight : image.weights)
    traffic.weights.push_back(cells.at(image.values[static_cast<size_t>(weight.value)].bytes));
  return traffic;
}

class QuantisedMemory : public DeviceTest {
 protected:
  RunReport report_of(const Graph& graph, const TensorMap& inputs) const {
    RunReport report;
    compile(graph, {.device = device(), .strict = true}).run(inputs, {.report = &report});
    return report;
  }
  // Weights in the order of kernels, of all programs that there are.
  int64_t packed_bytes() const {
    Graph graph;
    graph.output("y", exp(graph.input("x", f32({1}))));
    return report_of(graph, {{"x", Tensor(DType::f32, {1})}}).packed_bytes;
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, QuantisedMemory, every_device(), device_name);

TEST_P(QuantisedMemory, ProductsWriteTheirResultsAndNothingElse) {
  for (const BlockFormat& format : block_formats())
    for (const int64_t rows : {1, 40}) {
      SCOPED_TRACE(text(format.name, ", rows ", rows));
      const Traffic traffic = traffic_of(product(format, rows), device());
      EXPECT_EQ(traffic.written, std::vector<int64_t>{rows * kColumns * 4});
      EXPECT_EQ(traffic.weights, std::vector<int64_t>{kColumns * format.row_bytes(kInner)});
    }
}

TEST_P(QuantisedMemory, RowsOfATableAreAllThatIsWritten) {
  for (const BlockFormat& format : block_formats()) {
    SCOPED_TRACE(format.name);
    const Traffic traffic = traffic_of(table(format), device());
    EXPECT_EQ(traffic.written, std::vector<int64_t>{kIds * kInner * 4});
    EXPECT_EQ(traffic.weights, std::vector<int64_t>{kColumns * format.row_bytes(kInner)});
  }
}

// On GPUs few: kernels that they have not seen take long to compile.
TEST_P(QuantisedMemory, ADeviceHoldsTheBytesOfBlocksAndNoMore) {
  const int64_t packed = packed_bytes();
  const auto expect_blocks = [&](const BlockFormat& format, const Graph& graph,
                                 const TensorMap& inputs) {
    const RunReport report = report_of(graph, inputs);
    EXPECT_EQ(report.weight_bytes, kColumns * format.row_bytes(kInner)) << format.name;
    EXPECT_EQ(report.packed_bytes, packed) << format.name;
  };
  const TensorMap ids{{"ids", Tensor::of(DType::i32, {kIds}, {0, 63})}};
  if (!device().is_cpu()) {
    for (const char* name : kSomeFormats)
      expect_blocks(block_format(name), table(block_format(name)), ids);
    return;
  }
  for (const BlockFormat& format : block_formats()) {
    expect_blocks(format, table(format), ids);
    for (const int64_t rows : {2, 20})
      expect_blocks(format, product(format, rows), {{"x", waves({rows, kInner}, 0.7)}});
  }
}

// What is written are rows of results, of x . a, and the smaller matrix of the adapter, scaled.
TEST_P(QuantisedMemory, AnAdapterLeavesItsBaseInBlocks) {
  for (const char* name : kSomeFormats)
    for (const int64_t rows : {1, 20}) {
      SCOPED_TRACE(text(name, ", rows ", rows));
      const BlockFormat format = block_format(name);
      const Traffic traffic = traffic_of(with_adapter(format, any_blocks(format), rows), device());
      for (const int64_t bytes : traffic.written)
        EXPECT_LE(bytes, std::max(rows, kRank) * kColumns * 4);
      EXPECT_EQ(traffic.weights[0], kColumns * format.row_bytes(kInner));
    }
}

// The same in double on decoded weights.
TEST_P(QuantisedMemory, AnAdaptedProductIsThatOfTheDecodedWeights) {
  constexpr int64_t kRows = 3;
  const BlockFormat format = block_format("q8_0");
  const Tensor blocks = encode_blocks(waves({kColumns, kInner}, 0.37), format);
  const Tensor w = decode_blocks(blocks, format), x = waves({kRows, kInner}, 0.7),
               a = waves({kInner, kRank}, 0.11), b = waves({kRank, kColumns}, 0.23);
  const Program program =
      compile(with_adapter(format, blocks, kRows), {.device = device(), .strict = true});
  RunReport report;
  const Tensor y = program.run({{"x", x}}, {.report = &report}).tensors.at("y");
  EXPECT_EQ(report.weight_bytes,
            kColumns * format.row_bytes(kInner) + (kInner + kColumns) * kRank * 4);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      double sum = 0, terms = 0;
      const auto add = [&](double term) { sum += term, terms += std::abs(term); };
      for (int64_t k = 0; k < kInner; ++k) {
        const double x_k = x.at(row * kInner + k);
        add(x_k * w.at(column * kInner + k));
        for (int64_t r = 0; r < kRank; ++r)
          add(kScale * x_k * a.at(k * kRank + r) * b.at(r * kColumns + column));
      }
      // Roundings of 256 terms seldom go the same way: half of their root in ulps.
      ASSERT_NEAR(y.at(row * kColumns + column), sum, 8 * 0x1p-23 * terms) << row << ' ' << column;
    }
}

}  // namespace
}  // namespace rlx
