// What passes change, seen by who compiles and runs.

#include <gtest/gtest.h>

#include "rlx/conformance/device_test.h"
#include "rlx/facade/optimised.h"
#include "rlx/ir/text.h"
#include "rlx/op.h"
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
  EXPECT_GT(calls({"fold-scales", "scale-norms"}), calls({}));
}

TEST(Optimise, EachPassCanBeDisabled) {
  Graph graph = norm_behind_conv();
  const Value norm = graph.outputs()[0].value;
  graph.output("gated", norm * sigmoid(norm));
  const TensorMap inputs{{"x", some_tensor({1, 2, 3, 3})}};
  const Tensor want = compile(graph).run(inputs).at("gated");
  for (const std::string& name : pass_names()) {
    SCOPED_TRACE(name);
    const CompileOptions options{.disabled_passes = {name}};
    std::vector<PassReport> report;
    detail::optimised(graph, options, {.report = &report});
    int64_t of_it = 0, of_others = 0;
    for (const PassReport& each : report) (each.name == name ? of_it : of_others) += each.changes;
    EXPECT_EQ(of_it, 0);
    EXPECT_GT(of_others, 0);
    const Tensor y = compile(graph, options).run(inputs).at("gated");
    for (int64_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y.at(i), want.at(i), 1e-4);
  }
}

TEST(Optimise, ANameThatIsNoPassIsAnErrorWithThoseThatAre) {
  const std::string message =
      error_of([] { compile(norm_behind_conv(), {.disabled_passes = {"fold"}}); });
  EXPECT_NE(message.find("there is no pass 'fold'; there is dead-code, "), std::string::npos)
      << message;
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

// y = 2 x, with a kernel that says how often it loads: all that a pass may know of it.
OpRef doubled_op() {
  OpDef op;
  op.name = "mine.doubled";
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite& site) {
    for (int64_t i = 0; i < site.out().count(); ++i) site.out().set(i, 2 * site.in(0).at(i));
  };
  op.lower = [](const LowerSite& site) -> Steps {
    const Dim size = count(site.in(0).shape);
    return Dispatch{.kernel = {"mine.doubled", {"doubled.wgsl", R"(// Loads: x 1.
@compute @workgroup_size(WORKGROUP)
fn main(ids: Ids, @builtin(local_invocation_index) lane: u32) {
  let i = workgroup_index(ids) * WORKGROUP + lane;
  if (i >= params.size) { return; }
  store_y(i, 2.0 * load_x(i));
}
)"}},
                    .operands = {site.read("x", 0), site.write("y")},
                    .params = {{"size", size}},
                    .workgroups = ceil_div(size, 64)};
  };
  return std::make_shared<const OpDef>(op);
}

class OptimiseOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, OptimiseOn, every_device(), device_name);

TEST_P(OptimiseOn, AWeightOfAFoldedNormCanBeSet) {
  const Graph graph = norm_behind_conv();
  Program program = compile(graph, {.device = device()});
  const TensorMap inputs{{"x", some_tensor({1, 2, 3, 3})}};
  program.run(inputs);
  const Tensor gamma = Tensor::of(DType::f32, {2}, {3, -2});
  program.set_weight("gamma", gamma);
  const Tensor y = program.run(inputs).at("y");
  Program plain = compile(graph, {.device = device(), .optimise = false});
  plain.set_weight("gamma", gamma);
  const Tensor want = plain.run(inputs).at("y");
  for (int64_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y.at(i), want.at(i), 1e-4);
}

TEST_P(OptimiseOn, AnOpOfAUsersOwnIsAnAnchor) {
  Graph graph;
  const Value x = graph.input("x", f32({3, 4})), row = graph.input("row", f32({4}));
  graph.output("y", tanh(graph.add(doubled_op(), {x * row})) + row);
  const TensorMap inputs{{"x", some_tensor({3, 4})}, {"row", some_tensor({4})}};
  const CompileOptions options{.device = device()};
  const Tensor y = compile(graph, options).run(inputs).at("y");
  const Tensor want = evaluate(graph, inputs).outputs.at("y");
  for (int64_t i = 0; i < y.count(); ++i) EXPECT_NEAR(y.at(i), want.at(i), 1e-5);
  if (device().is_cpu()) return;  // an op that brings no code for the host runs by its reference
  const Image image = compile_image(graph, options);
  EXPECT_EQ(image.data().run.size(), 1u) << to_text(image);
}

}  // namespace
}  // namespace rlx
