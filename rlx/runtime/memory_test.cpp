// Programs whose values lie side by side in few buffers give what the references give.
#include <gtest/gtest.h>

#include "rlx/conformance/device_test.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/program.h"

namespace rlx {

using namespace detail;
namespace {

class ProgramMemory : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, ProgramMemory, every_device(), device_name);

// Each level keeps a value for the way back, half as large as the one before; the rows are
// symbolic.
Graph levels() {
  Graph graph;
  Value x = graph.input("x", f32({"rows", 256}));
  std::vector<Value> kept;
  for (int64_t extent = 256; extent >= 8; extent /= 2) {
    kept.push_back(softmax(x, 0));
    x = slice(softmax(kept.back(), 0), {0}, {extent / 2}, {1});
  }
  for (size_t i = kept.size(); i-- > 0;) {
    x = softmax(concat({softmax(x, 1), kept[i]}, 1), 1);
    if (i == 3) graph.output("inner", x);
  }
  graph.output("y", x);
  return graph;
}

TEST_P(ProgramMemory, ValuesSideBySideAreRight) {
  const Graph graph = levels();
  const Program program = compile(graph, {.device = device(), .disabled_passes = {"fuse"}});
  for (const int64_t rows : {7, 1, 13, 7}) {  // each has a plan of its own
    Tensor x(DType::f32, {rows, 256});
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, double(i * i % 17) / 4 + double(rows));
    RunReport report;
    const TensorMap got = program.run({{"x", x}}, {.report = &report}).tensors;
    EXPECT_LT(report.slots, 9);
    const Evaluation wanted = evaluate(graph, {{"x", x}});
    for (const auto& [name, tensor] : wanted.outputs) {
      ASSERT_EQ(got.at(name).shape(), tensor.shape());
      for (int64_t i = 0; i < tensor.count(); ++i)
        ASSERT_NEAR(got.at(name).at(i), tensor.at(i), 2e-6) << name << " " << i << " of " << rows;
    }
  }
}

}  // namespace
}  // namespace rlx
