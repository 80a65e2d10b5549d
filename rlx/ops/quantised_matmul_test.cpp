#include <gtest/gtest.h>

#include <functional>

#include "rlx/compile/lower_graph.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_linear.h"

namespace rlx {
namespace {

std::string error_of(const TensorType& w, const TensorType& scales, int64_t block) {
  Graph graph;
  try {
    quantised_matmul(graph.input("x", f32({2, 4})), graph.input("w", w),
                     graph.input("scales", scales), block);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(QuantisedMatmul, EveryBlockHasItsScale) {
  Graph graph;
  const Tensor x = Tensor::of(DType::f32, {1, 4}, {1, 2, 3, 4});
  const Tensor w = Tensor::of(DType::i8, {2, 4}, {1, 1, 1, 1, -128, 0, 0, 127});
  const Tensor scales = Tensor::of(DType::f32, {2, 2}, {1, 10, 0.5, 2});
  graph.output("y", quantised_matmul(graph.input("x", x.type()), graph.input("w", w.type()),
                                     graph.input("scales", scales.type()), 2));
  const Tensor y = evaluate(graph, {{"x", x}, {"w", w}, {"scales", scales}}).outputs.at("y");
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(y.at(0), 73);
  EXPECT_EQ(y.at(1), -64 + 1016);
}

TEST(QuantisedMatmul, ErrorsNameTheOperands) {
  EXPECT_EQ(error_of(f32({3, 4}), f32({3, 2}), 2),
            "quantised_matmul: w is f32[3, 4], it needs to be i8[N, K] or u8[N, K]");
  EXPECT_EQ(error_of({DType::i8, {3, 4}}, f32({3, 2}), 0),
            "quantised_matmul: block 0 is not positive");
  EXPECT_EQ(error_of({DType::i8, {3, 4}}, f32({3, 2}), 3),
            "quantised_matmul: blocks of 3 with scales f32[3, 2] do not fill w i8[3, 4]: 6 and 4");
}

// ---- In blocks ----

std::string error_of_blocks(const TensorType& x, const TensorType& w, const std::string& format,
                            int64_t block = 0) {
  Graph graph;
  try {
    quantised_matmul(graph.input("x", x), graph.input("w", w), format, block);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(QuantisedMatmul, BlocksThatDoNotFitAreNamed) {
  const auto u8 = [](Dims shape) { return TensorType{DType::u8, std::move(shape)}; };
  EXPECT_EQ(error_of_blocks(f32({2, 300}), u8({4, 145}), "q4_k"),
            "q4_k: a row of 145 bytes is no whole number of blocks of 144 bytes (256 elements)");
  EXPECT_EQ(error_of_blocks(f32({2, 300}), u8({4, 144}), "q4_k"),
            "quantised_matmul: rows of x f32[2, 300] and of w u8[4, 144], 4 x 256 in q4_k, differ: "
            "300 and 256");
  EXPECT_EQ(error_of_blocks(f32({2, 32}), f32({4, 18}), "q4_0"),
            "quantised_matmul: w is f32[4, 18], it needs to be u8[N, bytes of a row] in q4_0");
  EXPECT_EQ(error_of_blocks(f32({2, 32}), u8({4, 18}), ""),
            "quantised_matmul: w needs a format, or scales beside it");
  EXPECT_EQ(error_of_blocks(f32({2, 32}), u8({4, 18}), "q4_0", 64),
            "q4_0: a block has 32 elements, not 64");
}

Tensor evaluated(const std::function<Value(Graph&)>& build) {
  Graph graph;
  graph.output("y", build(graph));
  return evaluate(graph, {}).outputs.at("y");
}

// Two rows of one q4_0 block: 1 in f16 is 0x3c00, nibbles of 8 are zeros.
Tensor two_rows() {
  Tensor w(DType::u8, {2, 18});
  for (int64_t i = 0; i < w.count(); ++i) w.set_integer(i, i % 18 < 2 ? 0 : 0x88);
  w.set_integer(1, 0x3c), w.set_integer(19, 0x3c);
  w.set_integer(2, 0x89);   // element 0 of row 0 is 1
  w.set_integer(20, 0x58);  // element 16 of row 1 is -3
  return w;
}

TEST(QuantisedMatmul, DecodesRowsAsTheyAreRead) {
  Tensor x(DType::f32, {1, 32});
  x.set(0, 5), x.set(16, 7);
  const Tensor y = evaluated([&](Graph& graph) {
    return quantised_matmul(graph.constant(x), graph.constant(two_rows()), "q4_0");
  });
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(y.at(0), 5);
  EXPECT_EQ(y.at(1), -21);
}

TEST(QuantisedGather, GivesRowsAndCountsNegativeIndicesFromTheEnd) {
  const Tensor y = evaluated([&](Graph& graph) {
    return quantised_gather(graph.constant(two_rows()),
                            graph.constant(Tensor::of(DType::i64, {1, 2}, {-1, 0})), "q4_0");
  });
  EXPECT_EQ(y.shape(), (Shape{1, 2, 32}));
  EXPECT_EQ(y.at(16), -3);
  EXPECT_EQ(y.at(32), 1);
  EXPECT_EQ(y.at(0), 0);
}

TEST(QuantisedGroupedMatmul, AnExpertOutOfRangeIsNamed) {
  const auto run = [](double expert) {
    return evaluated([&](Graph& graph) {
      return grouped_matmul(graph.constant(Tensor(DType::f32, {1, 32})),
                            graph.constant(two_rows().reshaped({2, 1, 18})),
                            graph.constant(Tensor::of(DType::i32, {1}, {expert})), "q4_0");
    });
  };
  EXPECT_EQ(run(1).at(0), 0);
  for (const double bad : {2.0, -1.0}) EXPECT_THROW(run(bad), Error) << bad;
}

// The file of the kernel that so many rows go through.
std::string kernel_for(const Graph& graph, int64_t rows) {
  const DeviceTraits traits{.name = "test", .device_class = DeviceClass::software};
  const Lowered lowered = detail::lower_graph(graph, traits);
  const auto& dispatch = std::get<Dispatch>(lowered.steps.list.at(0).what);
  for (const Alternative& each : dispatch.alternatives)
    if (each.guard.value({{"n", rows}}) != 0) return each.source.file;
  return dispatch.kernel.source.file;
}

TEST(QuantisedMatmul, ManyRowsGoByTilesWhoeverCountsThem) {
  for (const int64_t rows : {1, 8, 9, 4000})
    for (const Dim& counted : {Dim("n"), Dim(rows)})
      for (const bool grouped : {false, true}) {
        Graph graph;
        const Value x = graph.input("x", f32({counted, 32}));
        graph.output("y",
                     grouped ? grouped_matmul(x, graph.input("w", {DType::u8, {2, 5, 18}}),
                                              graph.input("expert", i32({counted})), "q4_0")
                             : quantised_matmul(x, graph.input("w", {DType::u8, {5, 18}}), "q4_0"));
        EXPECT_EQ(kernel_for(graph, rows),
                  rows > 8 ? "quantised_matmul_tile.wgsl" : "quantised_matmul_rows.wgsl")
            << rows << ' ' << counted << ' ' << grouped;
      }
}

}  // namespace
}  // namespace rlx
