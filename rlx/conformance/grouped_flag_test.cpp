// An expert that does not exist is an error on every device.
#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"
#include "rlx/ops/ops_blocks.h"
#include "rlx/ops/ops_experts.h"
#include "rlx/ops/ops_linear.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

TEST(GroupedMatmul, FlagsAnExpertOutOfRangeOnEveryDevice) {
  Graph graph;
  graph.output("y", grouped_matmul(graph.input("x", f32({3, 2})), graph.input("w", f32({2, 2, 5})),
                                   graph.input("expert", i32({3}))));
  const TensorMap inputs = {{"x", Tensor(DType::f32, {3, 2})},
                            {"w", Tensor(DType::f32, {2, 2, 5})}};
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    const auto run = [&](std::initializer_list<double> experts) {
      TensorMap all = inputs;
      all.insert({"expert", Tensor::of(DType::i32, {3}, experts)});
      return error_of([&] { program.run(all); });
    };
    EXPECT_NE(run({0, 2, 1}).find("grouped_matmul"), std::string::npos);
    EXPECT_NE(run({0, -1, 1}).find("out of range"), std::string::npos);
    EXPECT_EQ(run({0, 1, 1}), "");
  }
}

// Few rows and many go through kernels of their own.
TEST(QuantisedGroupedMatmul, FlagsAnExpertOutOfRangeOnEveryDevice) {
  for (const int64_t rows : {3, 40})
    for (const Device& device : test_devices()) {
      SCOPED_TRACE(text(device.name(), ", ", rows, " rows"));
      Graph graph;
      graph.output("y", grouped_matmul(graph.input("x", f32({rows, 32})),
                                       graph.constant(Tensor(DType::u8, {2, 5, 18})),
                                       graph.input("expert", i32({rows})), "q4_0"));
      const Program program = compile(graph, {.device = device});
      const auto run = [&](int64_t last) {
        Tensor experts(DType::i32, {rows});
        experts.set_integer(rows - 1, last);
        return error_of([&] {
          program.run({{"x", Tensor(DType::f32, {rows, 32})}, {"expert", experts}});
        });
      };
      EXPECT_NE(run(2).find("quantised_grouped_matmul"), std::string::npos);
      EXPECT_NE(run(-1).find("out of range"), std::string::npos);
      EXPECT_EQ(run(1), "");
    }
}

// Rows are sorted by the expert that they name before any is computed.
TEST(MixtureOfExperts, FlagsAnExpertOutOfRangeOnEveryDevice) {
  Graph graph;
  const Gate gate{graph.input("indices", i32({5, 2})), graph.input("weights", f32({5, 2}))};
  graph.output("y", mixture_of_experts(graph.input("x", f32({5, 3})), gate,
                                       {.up = graph.input("up", f32({4, 3, 6})),
                                        .down = graph.input("down", f32({4, 6, 3}))}));
  for (const Device& device : test_devices()) {
    SCOPED_TRACE(device.name());
    const Program program = compile(graph, {.device = device});
    const auto run = [&](int64_t one) {
      Tensor indices(DType::i32, {5, 2});
      indices.set_integer(3, one);
      return error_of([&] {
        program.run({{"indices", indices},
                     {"weights", Tensor(DType::f32, {5, 2})},
                     {"x", Tensor(DType::f32, {5, 3})},
                     {"up", Tensor(DType::f32, {4, 3, 6})},
                     {"down", Tensor(DType::f32, {4, 6, 3})}});
      });
    };
    EXPECT_NE(run(4).find("grouped_matmul"), std::string::npos);
    EXPECT_NE(run(-1).find("out of range"), std::string::npos);
    EXPECT_EQ(run(3), "");
  }
}

}  // namespace
}  // namespace rlx
