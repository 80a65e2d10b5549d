// What an image keeps away from a run: shape rules, folded weights, copies of states.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "rlx/autodiff/gradient.h"
#include "rlx/conformance/device_test.h"
#include "rlx/conformance/test_devices.h"
#include "rlx/ir/text.h"
#include "rlx/op.h"
#include "rlx/ops/catalog.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/internals.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

Tensor ramp(const Shape& shape, double step = 1) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, step * static_cast<double>(i % 7));
  return tensor;
}

// Steps that compute: neither jumps nor copies that share their place.
size_t working_steps(const image::Image& image) {
  const auto place = [&](image::ValueId v) { return image.values[size_t(v)].place; };
  return static_cast<size_t>(
      std::count_if(image.run.begin(), image.run.end(), [&](const image::Step& step) {
        const auto* copy = std::get_if<image::Copy>(&step.what);
        return copy ? place(copy->source.value) != place(copy->target.value)
                    : std::holds_alternative<image::Call>(step.what) ||
                          std::holds_alternative<image::Dispatch>(step.what);
      }));
}

class Images : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Images, every_device(), device_name);

// An op that counts how often its shape rule is asked.
struct Counted {
  int infers = 0;
  OpRef op() {
    auto def = std::make_shared<OpDef>();
    def->name = "counted";
    def->infer = [this](const InferSite& site) -> Types { return ++infers, Types{site.in(0)}; };
    def->reference = [](const ReferenceSite& site) {
      for (int64_t i = 0; i < site.out().count(); ++i) site.out().set(i, site.in(0).at(i) + 1);
    };
    def->inputs = {1, 1, {"x"}};
    def->results = {1, 1, {"y"}};
    return def;
  }
};

TEST_P(Images, ANewExtentAsksNoShapeRule) {
  Counted counted;
  Graph graph;
  graph.output("y", graph.add(counted.op(), {graph.input("x", f32({"n", 2}))}));
  const Program program = compile(graph, {.device = device()});
  const int before = counted.infers;
  for (int64_t n = 1; n < 5; ++n)
    EXPECT_EQ(program.run({{"x", ramp({n, 2})}}).at("y").shape(), (Shape{n, 2}));
  EXPECT_EQ(counted.infers, before);
}

TEST_P(Images, WhatDependsOnWeightsAloneRunsOnce) {
  Graph graph;
  const Value w = graph.weight("w", ramp({3, 3}, 0.5)), c = graph.constant(ramp({3, 3}, 0.1));
  graph.output("y", matmul(graph.input("x", f32({2, 3})), w * exp(c)));
  Program program = compile(graph, {.device = device()});
  EXPECT_EQ(working_steps(detail::image_of(program)), 1u);
  const TensorMap inputs{{"x", ramp({2, 3})}};
  const auto expect_right = [&](const Tensor& weight) {
    Graph other;
    const Value changed = other.constant(weight) * exp(other.constant(ramp({3, 3}, 0.1)));
    other.output("y", matmul(other.input("x", f32({2, 3})), changed));
    const Tensor want = evaluate(other, inputs).outputs.at("y"), got = program.run(inputs).at("y");
    for (int64_t i = 0; i < want.count(); ++i)
      EXPECT_NEAR(got.at(i), want.at(i), 1e-5 * (1 + std::fabs(want.at(i))));
  };
  expect_right(ramp({3, 3}, 0.5));
  program.set_weight("w", ramp({3, 3}, -2));
  expect_right(ramp({3, 3}, -2));
}

// Weights are not expanded, since they may be many.
TEST_P(Images, WhatConstantsMakeRunsOnceAndMayBeLarger) {
  constexpr int64_t kRows = 200;
  const auto outer = [](Value a, Value b) { return sin(unsqueeze(a, {1}) * unsqueeze(b, {0})); };
  for (const bool constant : {true, false}) {
    Graph graph;
    const Tensor column = ramp({kRows}, 0.01), row = ramp({64}, 0.1);
    const Value table = constant ? outer(graph.constant(column), graph.constant(row))
                                 : outer(graph.weight("a", column), graph.weight("b", row));
    graph.output("y", graph.input("x", f32({kRows, 64})) + table);
    const Program program =
        compile(graph, {.device = device(), .disabled_passes = {"fold-constants"}});
    const image::Image& image = detail::image_of(program);
    EXPECT_EQ(!image.once.empty(), constant);
    const TensorMap inputs{{"x", ramp({kRows, 64})}};
    const Tensor want = evaluate(graph, inputs).outputs.at("y"), got = program.run(inputs).at("y");
    for (int64_t i = 0; i < want.count(); ++i) ASSERT_NEAR(got.at(i), want.at(i), 1e-4) << i;
  }
}

// A kernel of a device decodes in its load; the host's read what was made before.
TEST_P(Images, AWeightOfBytesIsMadeFloatsOnceOnTheHost) {
  Graph graph;
  Tensor w(DType::i8, {64, 8, 3});
  for (int64_t i = 0; i < w.count(); ++i) w.set_integer(i, i % 120 - 60);
  const Value weight = cast(graph.weight("w", w), DType::f32) * graph.constant(ramp({64, 1, 1}));
  const OpRef conv = catalog().at("conv");
  graph.output("y", graph.add(conv, {graph.input("x", f32({1, 8, 20})), weight}, {}));
  Program program = compile(graph, {.device = device()});
  const image::Image& image = detail::image_of(program);
  EXPECT_EQ(!image.once.empty(), image.traits.on_host());
  if (image.traits.on_host()) EXPECT_LE(working_steps(image), 2u);  // conv, and its rows in order
  const TensorMap inputs{{"x", ramp({1, 8, 20})}};
  const auto expect_right = [&] {
    const Tensor got = program.run(inputs).at("y");
    Graph other;
    const Value changed = cast(other.constant(w), DType::f32) * other.constant(ramp({64, 1, 1}));
    other.output("y", other.add(conv, {other.input("x", f32({1, 8, 20})), changed}, {}));
    const Tensor want = evaluate(other, inputs).outputs.at("y");
    for (int64_t i = 0; i < want.count(); ++i)
      ASSERT_NEAR(got.at(i), want.at(i), 1e-4 * (1 + std::fabs(want.at(i)))) << i;
  };
  expect_right();
  for (int64_t i = 0; i < w.count(); ++i) w.set_integer(i, i % 7);
  program.set_weight("w", w);
  expect_right();
}

TEST_P(Images, WhatNoStepReadsHasNoValueAndWhatIsKnownNoStep) {
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  graph.input("unread", f32({3}));
  graph.output("y", graph.add(catalog().at("tile"), {x, shape_of(x)}));
  const Program program = compile(graph, {.device = device(), .optimise = false});
  const image::Image& image = detail::image_of(program);
  EXPECT_GE(image.inputs[0].value, 0);
  EXPECT_EQ(image.inputs[1].value, -1);
  for (const image::Steps* steps : {&image.once, &image.run})
    for (const image::Step& step : *steps)
      EXPECT_FALSE(std::holds_alternative<image::Write>(step.what));
  EXPECT_EQ(program.run({{"x", ramp({4})}, {"unread", ramp({3})}}).at("y").shape(), Shape{16});
}

TEST_P(Images, AWeightThatOnlyPreparesAnotherTakesNoMemoryOfTheDevice) {
  Graph graph;
  const Value w = graph.weight("w", ramp({64, 64}));
  graph.output("y", matmul(graph.input("x", f32({1, 64})), w * w));
  const Program program = compile(graph, {.device = device()});
  RunReport report;
  RunOptions options;
  options.report = &report;
  program.run({{"x", ramp({1, 64})}}, options);
  EXPECT_EQ(report.weight_bytes, 64 * 64 * 4);
}

// As a file may have it.
TEST_P(Images, AConstantAtAnyAddressServesShapeArithmetic) {
  const auto memory = std::make_shared<std::vector<std::byte>>(1 + sizeof(int64_t));
  const Tensor first = Tensor::view(DType::i64, {}, std::span(*memory).subspan(1), memory);
  Graph graph;
  const Value x = graph.input("x", f32({"n", 3}));
  const Value length = gather(shape_of(x), graph.constant(first));
  graph.output("y", range(scalar(length, 0), length, scalar(length, 1)));
  const Program program = compile(graph, {.device = device()});
  EXPECT_EQ(program.run({{"x", ramp({5, 3})}}).at("y").shape(), (Shape{5}));
}

TEST_P(Images, ABranchThatIsNotTakenStillHasItsValuesPrepared) {
  Graph then, otherwise, graph;
  const Value a = then.input("x", f32({4})), b = otherwise.input("x", f32({4}));
  then.output("y", a + exp(then.constant(ramp({4}))));
  otherwise.output("y", b - exp(otherwise.constant(ramp({4}))));
  const Value x = graph.input("x", f32({4})), go = graph.input("go", boolean({}));
  graph.output("y", if_else(go, {x}, std::move(then), std::move(otherwise))[0]);
  // The passes would make constants of so few elements.
  const Program program =
      compile(graph, {.device = device(), .disabled_passes = {"fold-constants"}});
  EXPECT_EQ(detail::image_of(program).once.size(), 2u);
  for (const double taken : {1.0, 0.0})
    EXPECT_NEAR(program.run({{"x", ramp({4})}, {"go", Tensor::scalar(DType::boolean, taken)}})
                    .at("y")
                    .at(1),
                1 + (taken == 1 ? 1 : -1) * std::exp(1), 1e-5);
}

// As exporters write weights whose parts another framework has in another order.
TEST_P(Images, WeightsThatABranchPutsTogetherArePutTogetherOnce) {
  const auto branch = [](double by) {
    Graph body;
    const Value x = body.input("x", f32({2, 4})), w = body.constant(ramp({64, 4}, by));
    const Value parts = concat({slice(w, {32}, {64}, {0}), slice(w, {0}, {32}, {0})}, 0);
    body.output("y", matmul(x, parts, false, true));
    return body;
  };
  Graph graph;
  const Value x = graph.input("x", f32({2, 4})), go = graph.input("go", boolean({}));
  graph.output("y", if_else(go, {x}, branch(1), branch(2))[0]);
  // The passes would make constants of so few elements.
  const Program program =
      compile(graph, {.device = device(), .disabled_passes = {"fold-constants"}});
  const image::Image& image = detail::image_of(program);
  EXPECT_EQ(working_steps(image), 2u);
  EXPECT_FALSE(image.once.empty());
  const auto first = [&](bool taken) {
    return program.run({{"x", ramp({2, 4})}, {"go", Tensor::scalar(DType::boolean, taken)}})
        .at("y")
        .at(0);
  };
  EXPECT_NEAR(first(false), 2 * first(true), 1e-4 * std::fabs(first(true)));
}

// What several bodies write depends on which of them run, and how often.
TEST_P(Images, ConstantsThatALoopStartsFromAreNotItsResult) {
  Graph body, graph;
  body.input("i", i64({}));
  const Value v = body.input("v", f32({2}));
  body.output("next", v + body.constant(Tensor::of(DType::f32, {2}, {10, 10})));
  const Value first = graph.constant(Tensor::of(DType::f32, {2}, {1, 2}));
  graph.output("y", loop(graph.input("n", i64({})), {first}, std::move(body))[0]);
  const Program program = compile(graph, {.device = device()});
  for (const double n : {0.0, 1.0, 3.0})
    EXPECT_EQ(program.run({{"n", Tensor::scalar(DType::i64, n)}}).at("y").at(0), 1 + 10 * n);
}

TEST_P(Images, BranchesOfConstantsAreNotMixed) {
  Graph then, otherwise, graph;
  then.output("y", neg(then.constant(Tensor::of(DType::f32, {1}, {1}))));
  otherwise.output("y", neg(otherwise.constant(Tensor::of(DType::f32, {1}, {5}))));
  graph.output(
      "y", if_else(graph.input("go", boolean({})), {}, std::move(then), std::move(otherwise))[0]);
  const Program program = compile(graph, {.device = device()});
  for (const double go : {1.0, 0.0, 1.0})
    EXPECT_EQ(program.run({{"go", Tensor::scalar(DType::boolean, go)}}).at("y").at(0),
              go == 1 ? -1 : -5);
}

TEST_P(Images, ABranchThatIsNotTakenCannotFail) {
  Graph then, otherwise, graph;
  then.output("y",
              gather(then.constant(ramp({4})), then.constant(Tensor::of(DType::i64, {1}, {7}))));
  otherwise.output("y", neg(otherwise.constant(Tensor::of(DType::f32, {1}, {5}))));
  graph.output(
      "y", if_else(graph.input("go", boolean({})), {}, std::move(then), std::move(otherwise))[0]);
  const Program program = compile(graph, {.device = device()});
  EXPECT_EQ(program.run({{"go", Tensor::scalar(DType::boolean, 0)}}).at("y").at(0), -5);
  EXPECT_NE(error_of([&] {
              program.run({{"go", Tensor::scalar(DType::boolean, 1)}});
            }).find("out of range"),
            std::string::npos);
}

// The shape arithmetic is a call of the host, whose operand no symbol stands for.
TEST_P(Images, AnInputThatOnlyShapeArithmeticReadsIsSeenToChange) {
  const Graph graph = parse(R"(rlx 1
%0 = input @"k" : i64[1]
%1 = input @"x" : f32[1]
%2 = abs %0 @"b" : i64[1]
%3 = expand %1, %2 @"z" : f32[v2.0]
output "y" %3
)",
                            catalog());
  const Program program = compile(graph, {.device = device()});
  for (const double n : {3.0, -5.0, 3.0})
    EXPECT_EQ(
        program.run({{"k", Tensor::of(DType::i64, {1}, {n})}, {"x", ramp({1})}}).at("y").count(),
        static_cast<int64_t>(std::fabs(n)));
}

// x[:, :i + 1] . ones(i + 1) in iteration i: what must hold of it need not hold of i = n.
TEST_P(Images, ChecksOfALoopsBodyEndWithItsLastIteration) {
  const Graph graph = parse(R"(rlx 1
%0 = input @"n" : i64[]
%1 = input @"z" : f32[]
%2 = input @"x" : f32[1, 4]
%3 = loop %0, %1, %2 body={
  %0 = input @"i" : i64[]
  %1 = input @"v" : f32[]
  %2 = input @"x" : f32[1, 4]
  %3 = constant value=i64[1]{1} @"one" : i64[1]
  %4 = constant value=i64[1]{0} @"zero" : i64[1]
  %5 = reshape %0 allowzero=false shape=dims[1] @"i1" : i64[1]
  %6 = add %5, %3 @"e" : i64[1]
  %7 = slice %2, %4, %6 axes=[1] @"sl" : f32[1, max(min(max(v6.0, -281474976710656) + 4*min(max(-max(v6.0, -281474976710656), 0), 1), 4), 0)]
  %8 = constant value=f32[1]{1} @"onef" : f32[1]
  %9 = expand %8, %6 @"ex" : f32[v6.0]
  %10 = matmul %7, %9 transpose_a=false transpose_b=false @"mm" : f32[1]
  %11 = sum %10 axes=[0] keep=false @"r" : f32[]
  %12 = add %1, %11 @"na" : f32[]
  output "o" %12
} captured=1 reverse=false scanned=0 @"loop" : f32[]
output "y" %3
)",
                            catalog());
  const Program program = compile(graph, {.device = device()});
  const TensorMap inputs{{"n", Tensor::scalar(DType::i64, 4)},
                         {"z", Tensor(DType::f32, {})},
                         {"x", Tensor::of(DType::f32, {1, 4}, {1, 2, 3, 4})}};
  EXPECT_EQ(program.run(inputs).begin()->second.at(0),
            evaluate(graph, inputs).outputs.begin()->second.at(0));
}

TEST_P(Images, NumbersThatADeviceCannotHoldStayOnTheHostBetweenItsSteps) {
  Graph graph;
  const Value million = graph.constant(Tensor::of(DType::i64, {1}, {1000000}));
  const Value x = graph.input("x", i64({1}));
  graph.output("y", x * million * million / million / million);
  EXPECT_EQ(compile(graph, {.device = device()})
                .run({{"x", Tensor::of(DType::i64, {1}, {7})}})
                .at("y")
                .integer_at(0),
            7);
}

TEST_P(Images, StatesAreUpdatedWhereTheyAre) {
  Graph graph;
  const Value x = graph.input("x", f32({5}));
  for (int i = 0; i < 8; ++i) {
    const Value state = graph.state(text("s", i), f32({5}));
    const Value step = x * scalar(x, 1 + i);
    graph.update(state, i % 2 ? state * scalar(state, 0.5) + step : softmax(step) + step);
  }
  Program program = compile(graph, {.device = device()});
  for (const image::State& state : detail::image_of(program).states)
    EXPECT_EQ(detail::image_of(program).values[size_t(state.next)].place, state.value)
        << state.name;
  for (int run = 0; run < 2; ++run) program.run({{"x", ramp({5})}});
  EXPECT_NEAR(program.read_state("s0").at(4), 4 + 0.6364, 1e-3);
  EXPECT_EQ(program.read_state("s1").at(3), 9);
}

// A state that others read as it was keeps its memory until they have.
TEST_P(Images, ASwapOfTwoStatesIsRight) {
  Graph graph;
  const Value a = graph.state("a", ramp({3})), b = graph.state("b", ramp({3}, -1));
  graph.update(a, b);
  graph.update(b, a);
  graph.output("old", a + b * scalar(a, 10));
  Program program = compile(graph, {.device = device()});
  EXPECT_EQ(program.run({}).at("old").at(2), 2 - 20);
  EXPECT_EQ(program.run({}).at("old").at(2), -2 + 20);
  program.reset_state();
  EXPECT_EQ(program.read_state("b").at(2), -2);
}

TEST_P(Images, AWeightTurnedIntoAStateTrains) {
  Graph graph;
  const Value w = graph.weight("w", ramp({2, 1}));
  const Value loss = sum_square(matmul(graph.input("x", f32({1, 2})), w) - scalar(w, 3));
  const Value state = graph.turn_into_state("w");
  graph.update(state, state - gradient(loss, {state})[0] * scalar(state, 0.1));
  graph.output("loss", loss);
  const Program program = compile(graph, {.device = device()});
  const TensorMap inputs{{"x", Tensor::of(DType::f32, {1, 2}, {1, 1})}};
  const double first = program.run(inputs).at("loss").at(0);
  for (int i = 0; i < 10; ++i) program.run(inputs);
  EXPECT_LT(program.run(inputs).at("loss").at(0), 0.1 * first);
}

TEST_P(Images, ARunThatFailedLateNamesTheStatesItMayHaveWritten) {
  Graph graph;
  const Value s = graph.state("s", f32({2}));
  const Value x = graph.input("x", f32({4})), at = graph.input("at", i64({2}));
  graph.update(s, s + gather(x, at));
  Program program = compile(graph, {.device = device()});
  const auto run = [&](double index) {
    return error_of([&] {
      program.run({{"x", ramp({4})}, {"at", Tensor::of(DType::i64, {2}, {index, 1})}});
      program.read_state("s");
    });
  };
  EXPECT_EQ(run(2), "");
  EXPECT_NE(run(100).find("out of range"), std::string::npos);
  if (device().is_cpu()) {  // it was refused before anything was written
    EXPECT_EQ(program.read_state("s").at(0), 2);
    return;
  }
  EXPECT_NE(run(2).find("'s'"), std::string::npos);
  program.reset_state();
  EXPECT_EQ(run(3), "");
  EXPECT_EQ(program.read_state("s").at(0), 3);
}

TEST_P(Images, AnErrorThatNobodyReadsReachesTheNextCallAndNoLaterRun) {
  Graph graph;
  graph.output("y", gather(graph.input("x", f32({4})), graph.input("at", i64({2}))));
  const Program program = compile(graph, {.device = device()});
  const auto run = [&](double index) {
    RunOptions options;
    options.keep_on_device = {"y"};
    return program.run({{"x", ramp({4})}, {"at", Tensor::of(DType::i64, {2}, {index, 1})}}, options)
        .device_tensors.at("y");
  };
  EXPECT_NE(error_of([&] { run(100).read(); }).find("100"), std::string::npos);
  EXPECT_EQ(run(3).read().at(0), 3);
}

TEST_P(Images, AreTheSameForTheSameGraph) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 4}));
  graph.output("y", softmax(matmul(x, graph.weight("w", ramp({4, 4})))));
  const CompileOptions options{.device = device()};
  EXPECT_TRUE(compile_image(graph, options) == compile_image(graph, options));
}

// What may raise the flag runs once, too: preparing the program then says so.
TEST_P(Images, AGatherFromAWeightByAWeightRunsOnce) {
  const auto picking = [](double last) {
    Graph graph;
    const Value rows = graph.weight("rows", Tensor::of(DType::i64, {2}, {0, last}));
    const Value picked = gather(graph.weight("w", ramp({4, 3})), rows);
    graph.output("y", graph.input("x", f32({2, 3})) + picked);
    return graph;
  };
  Program program = compile(picking(3), {.device = device()});
  const TensorMap inputs{{"x", Tensor(DType::f32, {2, 3})}};
  EXPECT_EQ(program.run(inputs).at("y").at(3), 2);  // 9 % 7
  EXPECT_EQ(working_steps(detail::image_of(program)), 1u);
  EXPECT_FALSE(detail::image_of(program).once.empty());
  program.set_weight("rows", Tensor::of(DType::i64, {2}, {1, 1}));
  EXPECT_EQ(program.run(inputs).at("y").at(0), 3);
  program.set_weight("rows", Tensor::of(DType::i64, {2}, {1, 9}));
  EXPECT_NE(error_of([&] { program.run(inputs); }).find("out of range"), std::string::npos);
  program.set_weight("rows", Tensor::of(DType::i64, {2}, {2, 1}));
  EXPECT_EQ(program.run(inputs).at("y").at(0), 6);
  const std::string said = error_of([&] { compile(picking(7), {.device = device()}); });
  EXPECT_NE(said.find("gather"), std::string::npos) << said;
}

TEST_P(Images, AreMadeReadyWithoutWaiting) {
  Graph graph;
  graph.output("y", exp(graph.input("x", f32({3}))));
  // Opened anew, so that nothing is there already.
  const Device fresh = device().is_cpu()
                           ? Device()
                           : with_fault(device(), std::make_shared<detail::webgpu::Fault>());
  std::optional<Result<Program>> result;
  compile_async(graph, {.device = fresh}, [&](Result<Program> made) { result = made; });
  EXPECT_EQ(result.has_value(), fresh.is_cpu()) << "on a GPU nobody has waited yet";
  detail::backend_of(fresh)->wait_until([&] { return result.has_value(); });
  EXPECT_EQ(result->take().run({{"x", Tensor(DType::f32, {3})}}).at("y").at(0), 1);
}

// On the CPU: the cost of an append does not grow with what the cache can hold.
TEST(CpuCalls, OfAFileAreHeldToTheirRulesWhenPreparedAndByNewExtents) {
  Counted counted;
  const auto infers_by_run = [&](const Dim& n, const Shape& x) {
    OpSet ops;
    ops.add(counted.op());
    Graph graph;
    graph.output("y", graph.add(ops.at("counted"), {graph.input("x", f32({n, 2}))}));
    const Program program = prepare(Device(), compile_image(graph), ops);
    std::vector<int> asked;
    for (int i = 0; i < 2; ++i) {
      const int before = counted.infers;
      program.run({{"x", ramp(x)}});
      asked.push_back(counted.infers - before);
    }
    return asked;
  };
  EXPECT_EQ(infers_by_run(3, {3, 2}), (std::vector<int>{0, 0}));
  EXPECT_EQ(infers_by_run("n", {3, 2}), (std::vector<int>{1, 0}));
}

TEST(CpuCalls, ARowIsWrittenIntoACacheInPlace) {
  Graph graph;
  const Value cache = graph.state("cache", f32({512, 8}));
  graph.update(cache,
               write_slice(cache, graph.input("row", f32({1, 8})), graph.input("at", i64({2}))));
  const Program program = compile(graph);
  const image::Image& image = detail::image_of(program);
  EXPECT_EQ(image.values[size_t(image.states[0].next)].place, image.states[0].value);
  RunReport report;
  RunOptions options;
  options.report = &report;
  program.run({{"row", ramp({1, 8})}, {"at", Tensor::of(DType::i64, {2}, {500, 0})}}, options);
  ASSERT_EQ(report.host_steps.size(), 1u);
  EXPECT_EQ(report.host_steps[0].implementation, "vector");
  EXPECT_EQ(program.read_state("cache").at(500 * 8 + 3), 3);
}

TEST(CpuCalls, ATransposedWeightIsNotCopiedInARun) {
  Graph graph;
  const Value w = graph.weight("w", ramp({16, 8}));
  graph.output("y", matmul(graph.input("x", f32({4, 8})), transpose(w, {1, 0})));
  EXPECT_EQ(working_steps(detail::image_of(compile(graph))), 1u);
}

}  // namespace
}  // namespace rlx
