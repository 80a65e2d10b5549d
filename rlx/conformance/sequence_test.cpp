// What control flow and recurrent nets promise of a run, on the CPU and on every adapter found.
#include <gtest/gtest.h>

#include <cmath>

#include "rlx/conformance/device_test.h"
#include "rlx/ir/evaluate.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/ops/ops_recurrent.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

class Sequence : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Sequence, every_device(), device_name);

Tensor ramp(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 0.1 * static_cast<double>(i % 7 - 3));
  return tensor;
}

void expect_near(const TensorMap& got, const TensorMap& want) {
  for (const auto& [name, tensor] : want) {
    ASSERT_EQ(got.at(name).type(), tensor.type()) << name;
    for (int64_t i = 0; i < tensor.count(); ++i)
      ASSERT_NEAR(got.at(name).at(i), tensor.at(i), 1e-5 * (1 + std::fabs(tensor.at(i)))) << name;
  }
}

TEST_P(Sequence, AnotherLengthOfAnLstmCostsNoPipelineAndNoHostStep) {
  Graph graph;
  const Dim steps = graph.symbol("s", 64, 1);
  const Values out = lstm(graph.input("x", f32({steps, 2, 3})), graph.weight("w", ramp({2, 16, 3})),
                          graph.weight("r", ramp({2, 16, 4})), {.direction = "bidirectional"});
  graph.output("y", out[0]);
  const Program program = compile(graph, {.device = device()});
  program.run({{"x", ramp({1, 2, 3})}});
  const Counters before = program.counters();
  for (const int64_t length : {2, 5, 9}) {
    const TensorMap inputs = {{"x", ramp({length, 2, 3})}};
    expect_near(program.run(inputs), evaluate(graph, inputs).outputs);
  }
  const Counters after = program.counters();
  EXPECT_EQ(after.pipelines, before.pipelines);
  EXPECT_EQ(after.plans, before.plans);
  if (!device().is_cpu()) {
    EXPECT_EQ(after.host_steps, before.host_steps);
  }
}

// Doubles x until it is at least 8; x is stacked, and what was stacked is used.
Graph doubling() {
  Graph body, graph;
  body.input("iteration", i64({}));
  body.input("condition", boolean({}));
  const Value x = body.input("x", f32({}));
  const Value next = x + x;
  body.output("condition", less(next, scalar(next, 8)));
  body.output("next", next);
  body.output("row", next);
  const Values out =
      while_loop(graph.input("most", i64({})), {}, {graph.input("x", f32({}))}, std::move(body));
  graph.output("last", out[0]);
  graph.output("rows", out[1] * scalar(out[1], 10));
  return graph;
}

TEST_P(Sequence, AWhileLoopReadsOneConditionBackPerIteration) {
  const Graph graph = doubling();
  const Program program = compile(graph, {.device = device()});
  for (const double start : {1.0, 4.0, 2.0}) {  // 3, 1 and 2 iterations
    const TensorMap inputs = {{"most", Tensor::scalar(DType::i64, 9)},
                              {"x", Tensor::scalar(DType::f32, start)}};
    RunReport report;
    const TensorMap outputs = program.run(inputs, {.report = &report}).tensors;
    expect_near(outputs, evaluate(graph, inputs).outputs);
    if (device().is_cpu()) continue;
    ASSERT_EQ(report.host_steps.size(), static_cast<size_t>(outputs.at("rows").count()));
    for (const HostStepReport& step : report.host_steps)
      EXPECT_EQ(step.reason, "while_loop needs its condition");
  }
}

TEST_P(Sequence, ABranchTellsItsExtentAnewInEveryRun) {
  const auto body = [](bool all) {
    Graph graph;
    const Value x = graph.input("x", f32({"n", 3}));
    graph.output("y", all ? neg(x) : slice(x, Ints{0}, Ints{2}));
    return graph;
  };
  Graph graph;
  const Value y = if_else(graph.input("c", boolean({})), {graph.input("x", f32({"n", 3}))},
                          body(true), body(false))[0];
  graph.output("sum", sum(y * y, {1}));
  const Program program = compile(graph, {.device = device()});
  for (const bool then : {true, false, true}) {
    const TensorMap inputs = {{"c", Tensor::scalar(DType::boolean, then)}, {"x", ramp({5, 3})}};
    expect_near(program.run(inputs), evaluate(graph, inputs).outputs);
  }
}

TEST_P(Sequence, BodiesMayHoldLoopsThatStack) {
  Graph inner, then, otherwise, graph;
  const Value state = inner.input("state", f32({3}));
  const Value next = state + inner.input("row", f32({3}));
  inner.output("next", next);
  inner.output("y", next);
  const Value x = then.input("x", f32({4, 3})), start = then.input("start", f32({3}));
  then.output("y", scan({start}, {x}, inner)[1]);
  otherwise.output("y", neg(otherwise.input("x", f32({4, 3}))));
  otherwise.input("start", f32({3}));
  graph.output("y", if_else(graph.input("c", boolean({})),
                            {graph.input("x", f32({4, 3})), graph.input("start", f32({3}))},
                            std::move(then), std::move(otherwise))[0]);
  for (const bool which : {true, false}) {
    const TensorMap inputs = {
        {"c", Tensor::scalar(DType::boolean, which)}, {"x", ramp({4, 3})}, {"start", ramp({3})}};
    expect_near(compile(graph, {.device = device()}).run(inputs), evaluate(graph, inputs).outputs);
  }
}

TEST_P(Sequence, StackingWithoutABoundIsLeftToTheHost) {
  Graph body, graph;
  body.input("iteration", i64({}));
  body.input("condition", boolean({}));
  const Value x = body.input("x", f32({}));
  body.output("condition", less(x, scalar(x, 8)));
  body.output("next", x + scalar(x, 1));
  body.output("row", x);
  graph.output("rows", while_loop({}, {}, {graph.input("x", f32({}))}, std::move(body))[1]);
  const TensorMap inputs{{"x", Tensor::scalar(DType::f32, 5)}};
  expect_near(compile(graph, {.device = device()}).run(inputs), evaluate(graph, inputs).outputs);
  if (device().is_cpu()) return;
  EXPECT_NE(error_of([&] {
              static_cast<void>(compile(graph, {.device = device(), .strict = true}));
            }).find("would run on the host: how many rows while_loop stacks depends on the data"),
            std::string::npos);
}

}  // namespace
}  // namespace rlx
