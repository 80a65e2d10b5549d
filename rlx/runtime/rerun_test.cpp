// What one run leaves to the next: states, plans, what is on the device already, and errors.

#include <gtest/gtest.h>

#include <stdexcept>

#include "rlx/conformance/device_test.h"
#include "rlx/op.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

class Reruns : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Reruns, every_device(), device_name);

Tensor numbers(const std::vector<double>& values) {
  return Tensor::of(DType::f32, {static_cast<int64_t>(values.size())}, values);
}
std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tensor.count(); ++i) list.push_back(tensor.at(i));
  return list;
}
using List = std::vector<double>;

TEST_P(Reruns, AnOutputThatIsAStateIsWhatItWasBeforeTheRun) {
  Graph graph;
  const Value x = graph.input("x", f32({2})), h = graph.state("h", f32({2}));
  graph.output("old", h);
  graph.output("row", reshape(h, {1, 2}));
  graph.update(h, h + x);
  const Program program = compile(graph, {.device = device()});
  EXPECT_EQ(elements(program.run({{"x", numbers({1, 2})}}).at("old")), (List{0, 0}));
  const TensorMap second = program.run({{"x", numbers({3, 4})}});
  EXPECT_EQ(elements(second.at("old")), (List{1, 2}));
  EXPECT_EQ(elements(second.at("row")), (List{1, 2}));
  EXPECT_EQ(elements(program.read_state("h")), (List{4, 6}));
}

TEST_P(Reruns, StatesAreHandedOnAndSwapped) {
  Graph graph;
  const Value x = graph.input("x", f32({1}));
  const Value first = graph.state("first", f32({1})), second = graph.state("second", f32({1}));
  graph.update(first, x);
  graph.update(second, first);
  const Value a = graph.state("a", f32({1})), b = graph.state("b", f32({1}));
  graph.update(a, b);
  graph.update(b, a);
  Program program = compile(graph, {.device = device()});
  program.write_state("a", numbers({7}));
  program.write_state("b", numbers({8}));
  program.run({{"x", numbers({1})}});
  EXPECT_EQ(elements(program.read_state("second")), List{0});
  program.run({{"x", numbers({2})}});
  EXPECT_EQ(elements(program.read_state("second")), List{1});
  program.run({{"x", numbers({3})}});
  EXPECT_EQ(elements(program.read_state("a")), List{8});  // an odd number of times
  EXPECT_EQ(elements(program.read_state("b")), List{7});
}

TEST_P(Reruns, ARunBeyondTheBudgetIsRefusedEachTime) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"})), h = graph.state("h", f32({1}));
  graph.update(h, h + reshape(sum(x), {1}));
  graph.output("y", exp(x) + sin(x));
  const Program program = compile(graph, {.device = device(), .memory_budget = 1000});
  const auto run = [&](int64_t n) {
    Tensor ones(DType::f32, {n});
    for (int64_t i = 0; i < n; ++i) ones.set(i, 1);
    return program.run({{"x", ones}});
  };
  run(50);
  const std::string first = error_of([&] { run(5000); });
  EXPECT_NE(first.find("the budget is 1000"), std::string::npos) << first;
  EXPECT_EQ(error_of([&] { run(5000); }), first);
  EXPECT_EQ(elements(program.read_state("h")), List{50});
  run(50);
  EXPECT_EQ(elements(program.read_state("h")), List{100});
}

TEST_P(Reruns, APlanThatIsBeyondCountingIsRefusedEachTime) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"}));
  const Dim n("n");
  graph.output("y", sum(reshape(x, {n, 1, 1}) * reshape(x, {n, 1}) * x));
  const Program program = compile(graph, {.device = device()});
  const TensorMap inputs{{"x", Tensor(DType::f32, {3'000'000})}};
  const std::string first = error_of([&] { program.run(inputs); });
  EXPECT_NE(first, "");
  EXPECT_EQ(error_of([&] { program.run(inputs); }), first);
  EXPECT_EQ(program.run({{"x", numbers({1, 2})}}).at("y").at(0), 27);
}

TEST_P(Reruns, PartsOfOneTensorAreToldApart) {
  Graph graph;
  graph.output("y", graph.input("x", f32({graph.symbol("n", 8)})) * graph.constant(numbers({2})));
  const Program program = compile(graph, {.device = device()});
  const Tensor all = numbers({1, 2, 3, 4, 5});
  EXPECT_EQ(elements(program.run({{"x", all.first({3})}}).at("y")), (List{2, 4, 6}));
  EXPECT_EQ(elements(program.run({{"x", all}}).at("y")), (List{2, 4, 6, 8, 10}));
}

TEST_P(Reruns, ATensorOfAnotherDeviceTakesThePlaceOfAHostTensor) {
  Graph graph;
  const Value x = graph.input("x", f32({2}));
  graph.output("y", x + x);
  const Program program = compile(graph, {.device = device()}), on_cpu = compile(graph);
  const Tensor ones = numbers({1, 1});
  const DeviceTensor twenty =
      on_cpu.run({{"x", numbers({10, 10})}}, {.keep_on_device = {"y"}}).device_tensors.at("y");
  EXPECT_EQ(elements(program.run({{"x", ones}}).at("y")), (List{2, 2}));
  EXPECT_EQ(elements(program.run({}, {.device_inputs = {{"x", twenty}}}).tensors.at("y")),
            (List{40, 40}));
  EXPECT_EQ(elements(program.run({{"x", ones}}).at("y")), (List{2, 2}));
}

TEST_P(Reruns, ADeviceTensorMustHaveTheExtentsOfAnExpression) {
  Graph pairs, any;
  const Dim n("n");
  pairs.input("rows", f32({n}));
  pairs.output("y", transpose(reshape(pairs.input("x", f32({n * Dim(2)})), {n, 2}), {1, 0}));
  any.output("y", neg(any.input("x", f32({"m"}))));
  const Program program = compile(pairs, {.device = device()});
  const DeviceTensor five = compile(any, {.device = device()})
                                .run({{"x", numbers({1, 2, 3, 4, 5})}}, {.keep_on_device = {"y"}})
                                .device_tensors.at("y");
  const std::string error = error_of([&] {
    program.run({{"rows", numbers({1, 2})}}, {.device_inputs = {{"x", five}}});
  });
  EXPECT_NE(error.find("'x' is f32[5], the graph wants f32[2*n]"), std::string::npos) << error;
}

TEST_P(Reruns, ARunThatWasRefusedBindsNothing) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"})), shape = graph.input("shape", i64({1}));
  graph.output("y", reshape(x, shape));
  const Program program = compile(graph, {.device = device()});
  Graph same;
  same.output("y", neg(same.input("x", i64({1}))));
  const DeviceTensor on_device =
      compile(same, {.device = device()})
          .run({{"x", Tensor::of(DType::i64, {1}, {-4})}}, {.keep_on_device = {"y"}})
          .device_tensors.at("y");
  const Tensor four = Tensor::of(DType::i64, {1}, {-1});
  EXPECT_EQ(program.run({{"x", numbers({1, 2})}, {"shape", four}}).at("y").count(), 2);
  EXPECT_NE(
      error_of([&] {
        program.run({{"x", numbers({1, 2, 3, 4})}}, {.device_inputs = {{"shape", on_device}}});
      }),
      "");
  EXPECT_EQ(elements(program.run({{"x", numbers({1, 2, 3, 4})}, {"shape", four}}).at("y")),
            (List{1, 2, 3, 4}));
}

TEST_P(Reruns, APlaceThatIsWrittenToIsNoReasonToPlanAgain) {
  Graph graph;
  const Value cache = graph.state("cache", f32({16})), at = graph.input("at", i64({1}));
  graph.update(cache, write_slice(cache, graph.input("x", f32({1})), at));
  graph.output("y", sum(cache));
  const Program program = compile(graph, {.device = device()});
  for (int64_t i = 0; i < 8; ++i)
    program.run({{"at", Tensor::of(DType::i64, {1}, {double(i)})}, {"x", numbers({1})}});
  EXPECT_EQ(program.counters().plans, 1u);
}

TEST_P(Reruns, WhoWantsAProgramWaitsForItsAsynchronousRun) {
  Graph graph;
  graph.output("y", neg(graph.input("x", f32({1}))));
  const Program program = compile(graph, {.device = device()});
  double first = 0;
  program.run_async({{"x", numbers({1})}},
                    [&](Result<TensorMap> result) { first = result.take().at("y").at(0); });
  EXPECT_EQ(program.run({{"x", numbers({2})}}).at("y").at(0), -2);
  EXPECT_EQ(first, -1);
}

// As a page does, which cannot wait.
TEST_P(Reruns, ACallbackMayStartTheNextRun) {
  for (const bool comes_back : {false, true}) {  // in the middle of a run, too
    Graph graph;
    const Value x = graph.input("x", f32({"n"}));
    graph.output("y", x + scalar(x, 1));
    if (comes_back) graph.output("places", non_zero(x));
    const Program program = compile(graph, {.device = device()});
    std::vector<List> results;
    const std::function<void(Result<TensorMap>)> next = [&](Result<TensorMap> result) {
      List x = results.emplace_back(elements(result.take().at("y")));
      x.push_back(0);
      if (results.size() < 4) program.run_async({{"x", numbers(x)}}, next);
    };
    program.run_async({{"x", numbers({0})}}, next);
    program.wait();
    EXPECT_EQ(results, (std::vector<List>{{1}, {2, 1}, {3, 2, 1}, {4, 3, 2, 1}}));
  }
}

OpRef op_with(std::function<void(const ReferenceSite&)> reference) {
  return std::make_shared<OpDef>(OpDef{
      .name = "test.own",
      .family = "test",
      .infer = [](const InferSite& site) { return Types{site.in(0)}; },
      .reference = std::move(reference),
      .host_reason = "a test",
  });
}

TEST_P(Reruns, AnExceptionOfAnOpOfTheUserEndsTheRunAndNoMore) {
  Graph graph;
  const auto throws = [](const ReferenceSite& site) {
    if (site.in(0).at(0) < 0) throw std::runtime_error("no negatives");
    site.out() = site.in(0).copy();
  };
  graph.output("y", graph.add(op_with(throws),
                              {exp(graph.input("x", f32({1}))) - graph.input("z", f32({1}))}));
  const Program program = compile(graph, {.device = device()});
  const auto run = [&](double z) {
    return program.run({{"x", numbers({0})}, {"z", numbers({z})}}).at("y").at(0);
  };
  EXPECT_EQ(run(0.5), 0.5);
  try {
    run(2);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no negatives"), std::string::npos);
  }
  EXPECT_EQ(run(0.25), 0.75);
}

TEST_P(Reruns, AnOpOfTheUserThatGivesTooMuchIsAnError) {
  Graph graph;
  const auto gives_four = [](const ReferenceSite& site) { site.out() = Tensor(DType::f32, {4}); };
  const Value own = graph.add(op_with(gives_four), {graph.input("x", f32({1}))}, {}, "four");
  graph.output("y", own + own);
  const Program program = compile(graph, {.device = device()});
  const std::string error = error_of([&] { program.run({{"x", numbers({1})}}); });
  EXPECT_NE(error.find("'four' is f32[1], and its op gave f32[4]"), std::string::npos) << error;
}

TEST_P(Reruns, AWeightMayLieAtAnyAddress) {
  Graph graph;
  const Value w = graph.weight("w", f32({2, 2}));
  graph.output("y", matmul(graph.input("x", f32({2, 2})), w));
  Program program = compile(graph, {.device = device()});
  const auto bytes = std::make_shared<std::vector<std::byte>>(17, std::byte{0});
  program.set_weight("w", Tensor::view(DType::f32, {2, 2}, {bytes->data() + 1, 16}, bytes));
  EXPECT_EQ(program.run({{"x", Tensor(DType::f32, {2, 2})}}).at("y").at(3), 0);
}

// PyTorch's exporter calls extents s0, s1, …, and so do we what only the data tells.
TEST_P(Reruns, ExtentsThatTheDataTellsAreNotThoseOfTheUser) {
  Graph graph;
  graph.output("y", non_zero(graph.input("x", f32({"s0", 3}))));
  const Program program = compile(graph, {.device = device()});
  Tensor ones(DType::f32, {4, 3});
  for (int64_t i = 0; i < 12; ++i) ones.set(i, 1);
  EXPECT_EQ(program.run({{"x", ones}}).at("y").shape(), (Shape{2, 12}));
}

// y = x, which throws what is no Error where x begins with a negative number.
OpRef particular_op() {
  static const OpDef op{
      .name = "test.particular",
      .family = "test",
      .infer = [](const InferSite& site) { return Types{site.in(0)}; },
      .reference =
          [](const ReferenceSite& site) {
            if (site.in(0).at(0) < 0) throw std::runtime_error("not these");
            site.out() = site.in(0).copy();
          },
      .host_reason = "a test",
  };
  return static_op(op);
}

TEST_P(Reruns, WhatIsNoErrorLeavesTheNextRunItsViews) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 2}));
  graph.output("y", graph.add(particular_op(), {transpose(x, {1, 0})}));
  const Program program = compile(graph, {.device = device()});
  const auto run = [&](const std::vector<double>& values) {
    return elements(program.run({{"x", Tensor::of(DType::f32, {2, 2}, values)}}).at("y"));
  };
  EXPECT_EQ(run({1, 2, 3, 4}), (List{1, 3, 2, 4}));
  EXPECT_ANY_THROW(run({-1, 2, 3, 4}));
  EXPECT_EQ(run({5, 6, 7, 8}), (List{5, 7, 6, 8}));
}

}  // namespace
}  // namespace rlx
