// What passes change, seen by who compiles and runs.

#include <gtest/gtest.h>

#include "rlx/ir/text.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_channel_norm.h"
#include "rlx/ops/ops_core.h"
#include "rlx/passes/testing.h"
#include "rlx/runtime/image.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Graph norm_behind_conv() {
  Graph graph;
  const Value x = graph.input("x", f32({1, 2, 3, 3}));
  const auto weight = [&](const char* name, const Shape& shape) {
    Tensor tensor(DType::f32, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 0.5 + static_cast<double>(i % 3));
    return graph.weight(name, tensor);
  };
  const Value y = graph.add(catalog().at("conv"), {x, weight("w", {2, 2, 1, 1})});
  graph.output("y", relu(batch_norm(y, weight("gamma", {2}), weight("beta", {2}),
                                    weight("mean", {2}), weight("variance", {2}))));
  return graph;
}

TEST(Optimise, OpsThatOnlyPassesMadeRun) {
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  graph.output("y", x * sigmoid(x));
  const TensorMap inputs{{"x", Tensor::of(DType::f32, {4}, {-1, 0, 1, 2})}};
  const Tensor y = compile(graph).run(inputs).at("y");
  const Tensor want = evaluate(graph, inputs).outputs.at("y");
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(y.at(i), want.at(i), 1e-6);
}

TEST(Optimise, APassCanBeDisabledByName) {
  const Graph graph = norm_behind_conv();
  const auto calls = [&](const std::vector<std::string>& disabled) {
    const Image image = compile_image(graph, {.disabled_passes = disabled});
    const image::Steps& steps = image.data().run;
    return std::count_if(steps.begin(), steps.end(), [](const image::Step& step) {
      return std::holds_alternative<image::Call>(step.what);
    });
  };
  EXPECT_GT(calls({"fold-scales"}), calls({}));
}

TEST(Optimise, ANameThatIsNoPassIsAnErrorWithThoseThatAre) {
  const std::string message =
      error_of([] { compile(norm_behind_conv(), {.disabled_passes = {"fold"}}); });
  EXPECT_NE(message.find("there is no pass 'fold'; there is dead-code, "), std::string::npos)
      << message;
}

TEST(Optimise, AWeightOfAFoldedNormCanBeSet) {
  const Graph graph = norm_behind_conv();
  Program program = compile(graph);
  const TensorMap inputs{{"x", some_tensor({1, 2, 3, 3})}};
  program.run(inputs);
  const Tensor gamma = Tensor::of(DType::f32, {2}, {3, -2});
  program.set_weight("gamma", gamma);
  const Tensor y = program.run(inputs).at("y");
  Program plain = compile(graph, {.optimise = false});
  plain.set_weight("gamma", gamma);
  const Tensor want = plain.run(inputs).at("y");
  for (int64_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y.at(i), want.at(i), 1e-4);
}

TEST(Optimise, BodiesAreOptimisedToo) {
  Graph body;
  body.input("iteration", i64({}));
  const Value carried = body.input("carried", f32({3}));
  body.output("next", carried * sigmoid(carried));
  Graph graph;
  const Value x = graph.input("x", f32({3}));
  graph.output("y",
               graph.add(catalog().at("loop"), {graph.constant(Tensor::scalar(DType::i64, 2)), x},
                         {{"body", GraphPtr(std::make_shared<const Graph>(std::move(body)))},
                          {"captured", int64_t{0}}}));
  std::vector<PassReport> report;
  const Graph after = run_passes(graph, {.verify = true, .report = &report});
  EXPECT_NE(print(after).find("silu"), std::string::npos) << print(after);
  expect_same(graph, after);
  const auto found = std::find_if(report.begin(), report.end(), [](const PassReport& each) {
    return each.name == "find-activations";
  });
  ASSERT_NE(found, report.end());
  EXPECT_EQ(found->changes, 1);
}

}  // namespace
}  // namespace rlx
