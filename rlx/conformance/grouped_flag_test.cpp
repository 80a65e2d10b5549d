// An expert that does not exist is an error on every device.
#include <gtest/gtest.h>

#include "rlx/conformance/test_devices.h"
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

}  // namespace
}  // namespace rlx
