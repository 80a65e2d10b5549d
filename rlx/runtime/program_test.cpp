// How a program behaves around its runs: inputs, outputs, state, threads, loss.

#include "rlx/runtime/program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "rlx/backend/webgpu/webgpu_device.h"
#include "rlx/conformance/device_test.h"
#include "rlx/op.h"
#include "rlx/ops/ops_control.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_loop.h"
#include "rlx/ops/ops_rearrange.h"
#include "rlx/runtime/internals.h"
#include "rlx/testing.h"

namespace rlx {

using namespace detail;
namespace {

Tensor filled(const Shape& shape, double value) {
  Tensor tensor(DType::f32, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, value);
  return tensor;
}

class Programs : public DeviceTest {
 protected:
  bool on_gpu() const { return !device().is_cpu(); }
  webgpu::WebGpuDevice& gpu_device() const {
    return dynamic_cast<webgpu::WebGpuDevice&>(*detail::backend_of(device()));
  }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Programs, every_device(), device_name);

Graph affine() {
  Graph graph;
  const Value x = graph.input("x", f32({"n", 4}));
  const Value w = graph.weight("w", filled({4, 4}, 0.5));
  const Value y = matmul(x, w);
  graph.output("y", y);
  graph.output("z", relu(y - scalar(y, 1)));
  return graph;
}

TEST_P(Programs, ThatWereNotMadeAreAnError) {
  const auto refuses = [](const Program& program) {
    const std::string said = "run: there is no program: it was never made, or moved";
    EXPECT_EQ(error_of([&] { program.run({}); }), said);
    EXPECT_EQ(error_of([&] { program.bind({}); }), said);
    EXPECT_EQ(error_of([&] { program.inputs(); }), said);
    EXPECT_EQ(error_of([&] { program.counters(); }), said);
    EXPECT_EQ(error_of([&] { program.device(); }), said);
    EXPECT_EQ(error_of([&] { program.read_state("s"); }), said);
  };
  refuses(Program());
  EXPECT_NE(error_of([] { BoundRun().run(); }), "");
  Program program = compile(affine(), {.device = device()});
  BoundRun bound = program.bind({{"x", filled({2, 4}, 1)}});
  const Program other = std::move(program);
  refuses(program);  // NOLINT(bugprone-use-after-move)
  const BoundRun taken = std::move(bound);
  EXPECT_NE(error_of([&] { bound.run(); }), "");  // NOLINT(bugprone-use-after-move)
}

// A number of rows that a float says: no plan can know it.
TEST_P(Programs, ABudgetCountsWhatOnlyTheRunTells) {
  Graph graph;
  const Value rows = cast(ceil(exp(graph.input("n", f32({1})))), DType::i64);
  const Value many = expand(graph.input("x", f32({1})), rows);
  graph.output("y", sum(softmax(exp(many), 0)));
  const Program program = compile(graph, {.device = device(), .memory_budget = 1'000'000});
  const auto run = [&](double n) {
    return program.run({{"n", filled({1}, n)}, {"x", filled({1}, 0)}}).at("y").at(0);
  };
  EXPECT_EQ(run(0), 1);
  const std::string said = error_of([&] { run(14); });  // 1,202,605 rows
  EXPECT_NE(said.find("which only the run could tell"), std::string::npos) << said;
  EXPECT_NE(said.find("the budget leaves "), std::string::npos) << said;
  EXPECT_EQ(run(0), 1);
}

TEST_P(Programs, LoopsEndWhereTheirBudgetDoes) {
  Graph body, graph;
  body.input("iteration", i64({}));
  const Value carried = body.input("carried", f32({2}));
  body.output("carried", carried + scalar(carried, 1));
  const Value count = cast(sum(graph.input("n", f32({1}))), DType::i64);
  graph.output("y", loop(count, {graph.input("x", f32({2}))}, std::move(body))[0]);
  const Program program = compile(graph, {.device = device()});
  const auto run = [&](double n) {
    const TensorMap inputs{{"n", filled({1}, n)}, {"x", filled({2}, 0)}};
    return program.run(inputs, {.iteration_budget = 100}).tensors.at("y").at(1);
  };
  EXPECT_EQ(run(99), 99);
  EXPECT_EQ(error_of([&] { run(1e9); }).substr(0, 71),
            "run: its loops went round more than 100 times, which is the budget\n  at");
  EXPECT_EQ(run(3), 3);
}

TEST_P(Programs, OutliveTheirGraph) {
  std::optional<Graph> graph = affine();
  const Program program = compile(*graph, {.device = device()});
  graph.reset();
  EXPECT_EQ(program.run({{"x", filled({2, 4}, 1)}}).at("y").at(7), 2);
}

// The plan has no slot for rows that are not counted yet; those they are copied from have one,
// which the values after them take.
TEST_P(Programs, KeepRowsWhoseNumberOnlyTheRunTells) {
  Graph body, graph;
  const Value iteration = body.input("iteration", i64({}));
  body.input("condition", boolean({}));
  const Value row = body.input("row", f32({64}));
  body.output("goes_on", less(iteration, scalar(iteration, 1)));
  for (const char* name : {"next", "stacked"}) body.output(name, row + scalar(row, 1));
  const Value x = graph.input("x", f32({256}));
  const Values looped = while_loop(graph.constant(Tensor::scalar(DType::i64, 4)), {},
                                   {graph.input("start", f32({64}))}, std::move(body));
  graph.output("rows", looped[1]);
  Value y = x;
  for (int k = 0; k < 6; ++k) y = sin(y) * x;
  graph.output("y", y);
  const TensorMap outputs = compile(graph, {.device = device()})
                                .run({{"x", filled({256}, 7)}, {"start", filled({64}, 0)}});
  EXPECT_EQ(outputs.at("rows").shape(), (Shape{2, 64}));
  EXPECT_EQ(outputs.at("rows").at(0), 1);
  EXPECT_EQ(outputs.at("rows").at(127), 2);
}

TEST_P(Programs, ReadOnlyTheOutputsAskedFor) {
  const Program program = compile(affine(), {.device = device()});
  const RunResult result = program.run({{"x", filled({2, 4}, 1)}}, {.outputs = {"z"}});
  EXPECT_EQ(result.tensors.size(), 1u);
  EXPECT_EQ(result.tensors.at("z").at(0), 1);
  if (on_gpu()) {
    EXPECT_EQ(program.counters().readback_bytes, 2u * 4 * 4);
  }
}

TEST_P(Programs, SubmitOncePerRun) {
  if (!on_gpu()) return;
  const Program program = compile(affine(), {.device = device()});
  for (int i = 0; i < 3; ++i) program.run({{"x", filled({2, 4}, i)}});
  EXPECT_EQ(program.counters().submits, 3u);
}

TEST_P(Programs, UploadATensorAgainOnlyWhenItChanged) {
  if (!on_gpu()) return;
  const Program program = compile(affine(), {.device = device()});
  Tensor x = filled({2, 4}, 1);
  program.run({{"x", x}});
  const uint64_t uploads = program.counters().uploads;
  program.run({{"x", x}});
  EXPECT_EQ(program.counters().uploads, uploads);
  x.set(0, 9);
  EXPECT_EQ(program.run({{"x", x}}).at("y").at(0), 0.5 * 12);
  EXPECT_EQ(program.counters().uploads, uploads + 1);
}

TEST_P(Programs, SeeWhatIsWrittenThroughAKeptSpan) {
  const Program program = compile(affine(), {.device = device()});
  Tensor x(DType::f32, {2, 4});
  const std::span<float> kept = x.mutable_data<float>();
  for (const float value : {1.0f, 2.0f, 5.0f}) {
    std::fill(kept.begin(), kept.end(), value);
    EXPECT_EQ(program.run({{"x", x}}).at("y").at(0), 2 * value);
  }
}

TEST_P(Programs, SeeWhatIsWrittenThroughAKeptSpanOfABoundInput) {
  BoundRun bound = compile(affine(), {.device = device()}).bind({{"x", filled({2, 4}, 0)}});
  const std::span<float> kept = bound.input("x").mutable_data<float>();
  for (const float value : {1.0f, 2.0f, 5.0f}) {
    std::fill(kept.begin(), kept.end(), value);
    bound.run();
    EXPECT_EQ(bound.output("y").at(0), 2 * value);
  }
}

TEST_P(Programs, SeeWhatChangesBelowAView) {
  const Program program = compile(affine(), {.device = device()});
  std::vector<float> memory(8);
  const Tensor x = Tensor::view(DType::f32, {2, 4}, std::as_bytes(std::span(memory)), nullptr);
  for (const float value : {1.0f, 2.0f}) {
    std::fill(memory.begin(), memory.end(), value);
    EXPECT_EQ(program.run({{"x", x}}).at("y").at(0), 2 * value);
  }
}

TEST_P(Programs, TakeASealedTensorOnce) {
  if (!on_gpu()) return;
  const Program program = compile(affine(), {.device = device()});
  Tensor x(DType::f32, {2, 4});
  x.mutable_data<float>()[0] = 1;
  x = x.sealed();
  program.run({{"x", x}});
  const uint64_t uploads = program.counters().uploads;
  program.run({{"x", x}});
  EXPECT_EQ(program.counters().uploads, uploads);
}

TEST_P(Programs, TakeAWeightThatWasWrittenThroughAKeptSpan) {
  Tensor w(DType::f32, {4, 4});
  const std::span<float> kept = w.mutable_data<float>();
  std::fill(kept.begin(), kept.end(), 1.0f);
  const auto times_w = [&] {
    Graph graph;
    const Value x = graph.input("x", f32({1, 4}));
    graph.output("y", matmul(x, graph.weight("w", w)));
    return compile(graph, {.device = device()});
  };
  const auto first_of = [](const Program& program) {
    return program.run({{"x", filled({1, 4}, 1)}}).at("y").at(0);
  };
  Program program = times_w();
  EXPECT_EQ(first_of(program), 4);
  std::fill(kept.begin(), kept.end(), 2.0f);
  EXPECT_EQ(first_of(times_w()), 8) << "it does not share what the other one was given";
  program.set_weight("w", w);
  EXPECT_EQ(first_of(program), 8);
}

TEST_P(Programs, ARunIsBoundAgainWhereAKeptSpanDecidesShapes) {
  Graph graph;
  const Value x = graph.input("x", f32({4})), shape = graph.input("shape", i64({2}));
  graph.output("y", reshape(x, shape));
  const Program program = compile(graph, {.device = device()});
  Tensor target(DType::i64, {2});
  const std::span<int64_t> kept = target.mutable_data<int64_t>();
  for (const int64_t rows : {1, 2, 4}) {
    kept[0] = rows, kept[1] = 4 / rows;
    const Tensor y = program.run({{"x", filled({4}, 1)}, {"shape", target}}).at("y");
    EXPECT_EQ(y.shape(), (Shape{rows, 4 / rows}));
  }
}

TEST_P(Programs, TakeANewWeightBetweenRuns) {
  Program program = compile(affine(), {.device = device()});
  EXPECT_EQ(program.run({{"x", filled({1, 4}, 1)}}).at("y").at(0), 2);
  program.set_weight("w", filled({4, 4}, 1));
  EXPECT_EQ(program.run({{"x", filled({1, 4}, 1)}}).at("y").at(0), 4);
  EXPECT_EQ(error_of([&] { program.set_weight("w", filled({4}, 1)); }),
            "weight 'w' is f32[4, 4], got f32[4]");
  EXPECT_EQ(error_of([&] { program.set_weight("v", filled({4}, 1)); }), "there is no weight 'v'");
}

TEST_P(Programs, SayWhichWeightIsMissing) {
  Graph graph;
  graph.output("y", graph.input("x", f32({2})) * graph.weight("w", f32({2})));
  Program program = compile(graph, {.device = device()});
  EXPECT_EQ(error_of([&] {
              program.run({{"x", filled({2}, 1)}});
            }),
            "run: weight 'w' has no tensor");
  program.set_weight("w", filled({2}, 3));
  EXPECT_EQ(program.run({{"x", filled({2}, 2)}}).at("y").at(1), 6);
}

TEST_P(Programs, NameWhatIsWrongWithAnInput) {
  const Program program = compile(affine(), {.device = device()});
  EXPECT_EQ(error_of([&] { program.run({}); }), "run: input 'x' is missing");
  EXPECT_EQ(error_of([&] {
              program.run({{"x", filled({2, 5}, 1)}});
            }),
            "run: input 'x' is f32[2, 5], the graph wants f32[n, 4]");
  EXPECT_EQ(error_of([&] {
              program.run({{"x", Tensor(DType::i32, {2, 4})}});
            }),
            "run: input 'x' is i32[2, 4], the graph wants f32[n, 4]");
  EXPECT_EQ(error_of([&] {
              program.run({{"x", filled({2, 4}, 1)}, {"y", filled({1}, 1)}});
            }),
            "run: there is no input 'y'; there is x");
  EXPECT_EQ(program.run({{"x", filled({1, 4}, 1)}}).at("y").at(0), 2);  // and go on
}

TEST_P(Programs, PassTensorsOnWithoutTheHost) {
  const Program program = compile(affine(), {.device = device()});
  const RunResult first = program.run({{"x", filled({3, 4}, 1)}}, {.keep_on_device = {"y"}});
  const DeviceTensor& y = first.device_tensors.at("y");
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  const RunResult second = program.run({}, {.device_inputs = {{"x", y}}});
  EXPECT_EQ(second.tensors.at("y").at(11), 4);
  EXPECT_EQ(y.read().at(0), 2);  // the second run left it alone
}

TEST_P(Programs, HandACacheOnInTheSameTwoBuffers) {
  Graph graph;
  const Value past = graph.input("past", f32({graph.symbol("n", 64), 4}));
  const Value next = graph.input("next", f32({1, 4}));
  graph.output("present", concat({past, next}, 0));
  const Program program = compile(graph, {.device = device()});
  DeviceTensor cache;
  Counters settled;
  for (int64_t i = 0; i < 20; ++i) {
    const TensorMap host = {{"next", filled({1, 4}, static_cast<double>(i))}};
    const RunOptions options{.keep_on_device = {"present"}, .device_inputs = {{"past", cache}}};
    if (i == 0)
      cache = program
                  .run({{"past", Tensor(DType::f32, {0, 4})}, {"next", filled({1, 4}, 0)}},
                       {.keep_on_device = {"present"}})
                  .device_tensors.at("present");
    else
      cache = program.run(host, options).device_tensors.at("present");
    if (i == 2) settled = program.counters();
  }
  const Tensor all = cache.read();
  EXPECT_EQ(all.shape(), (Shape{20, 4}));
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(all.at(4 * i), static_cast<double>(i));
  EXPECT_EQ(program.counters().buffers, settled.buffers);
  EXPECT_EQ(program.counters().plans, settled.plans);
}

TEST_P(Programs, TakeEmptyTensors) {
  const Program program = compile(affine(), {.device = device()});
  EXPECT_EQ(program.run({{"x", Tensor(DType::f32, {0, 4})}}).at("y").shape(), (Shape{0, 4}));
  if (on_gpu()) {
    EXPECT_EQ(program.counters().dispatches, 0u);
  }
}

TEST_P(Programs, PassAnInputStraightThrough) {
  Graph graph;
  const Value x = graph.input("x", f32({2, 3}));
  graph.output("same", x);
  graph.output("turned", transpose(x, {1, 0}));
  const TensorMap out = compile(graph, {.device = device()})
                            .run({{"x", Tensor::of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(out.at("same").at(1), 2);
  EXPECT_EQ(out.at("turned").at(1), 4);
}

TEST_P(Programs, DescribeThemselves) {
  Graph graph = affine();
  const Value s = graph.state("s", f32({4}));
  graph.update(s, s);
  const Program program = compile(graph, {.device = device()});
  EXPECT_EQ(program.inputs()[0].name, "x");
  EXPECT_EQ(text(program.outputs()[1].type), "f32[n, 4]");
  EXPECT_EQ(program.weights()[0].name, "w");
  EXPECT_EQ(program.states()[0].name, "s");
}

TEST_P(Programs, CallBackWhenARunIsDone) {
  const Program program = compile(affine(), {.device = device()});
  bool called = false;
  program.run_async({{"x", filled({2, 4}, 1)}}, [&](Result<TensorMap> result) {
    EXPECT_EQ(result.take().at("y").at(0), 2);
    called = true;
  });
  program.wait();
  EXPECT_TRUE(called);
}

TEST_P(Programs, RunFromSeveralThreads) {
  const Program shared = compile(affine(), {.device = device()});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Program own = compile(affine(), {.device = device()});
      for (int i = 0; i < 20; ++i) {
        wrong += shared.run({{"x", filled({t + 1, 4}, i)}}).at("y").at(0) != 2.0 * i;
        wrong += own.run({{"x", filled({t + 1, 4}, -i)}}).at("y").at(0) != -2.0 * i;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

#ifdef __linux__
// Whatever else the process has started stays as it is while a program lives.
TEST(ProgramThreads, AreAsManyAsTheirOptionsSay) {
  const auto alive = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<int>(std::distance(begin(tasks), end(tasks)));
  };
  Graph graph;
  graph.output("y", relu(graph.input("x", f32({1 << 20}))));
  const TensorMap inputs{{"x", filled({1 << 20}, 1)}};
  std::thread([] {}).join();  // with the first a sanitizer starts one of its own
  const int before = alive();
  std::vector<Program> programs;
  // All devices share the threads of the process: each adds those that it alone may use.
  const auto check = [&](int threads, const CompileOptions& options) {
    programs.push_back(compile(graph, options));
    programs.back().run(inputs);
    EXPECT_EQ(alive() - before, threads - 1);
  };
  check(1, {.threads = 1});
  check(2, {.threads = 2});
  check(3, {.device = Device({.threads = 3})});
  check(5, {.device = find_all_devices({.cpu = {.threads = 5}}).at("cpu")});
  check(5, {.threads = 4});
}
#endif

TEST_P(Programs, SurviveALostDevice) {
  if (!on_gpu()) return;
  Program program = compile(affine(), {.device = device()});
  const RunResult kept = program.run({{"x", filled({2, 4}, 1)}}, {.keep_on_device = {"y"}});
  gpu_device().gpu()->force_loss("a test");
  EXPECT_EQ(program.run({{"x", filled({2, 4}, 1)}}).at("y").at(0),
            2);  // weights came back from their source
  try {
    kept.device_tensors.at("y").read();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device_lost);
  }
}

TEST_P(Programs, SurviveALossInTheMiddleOfARun) {
  if (!on_gpu()) return;
  // A host step in the middle pulls the plug while the run is under way.
  OpDef plug;
  plug.name = "test.plug";
  plug.host_reason = "a test";
  plug.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  int losses = 1;
  plug.reference = [&](const ReferenceSite& site) {
    if (losses-- > 0) gpu_device().gpu()->force_loss("in the middle");
    site.out() = site.in(0).copy();
  };
  Graph graph;
  const Value x = graph.input("x", f32({4}));
  graph.output("y", relu(graph.add(std::make_shared<const OpDef>(plug), {exp(x)})) + x);
  const Program program = compile(graph, {.device = device()});
  ErrorKind kind = ErrorKind::io;
  try {
    program.run({{"x", filled({4}, 0)}});
  } catch (const Error& error) {
    kind = error.kind();
  }
  EXPECT_EQ(kind, ErrorKind::device_lost);
  EXPECT_EQ(program.run({{"x", filled({4}, 0)}}).at("y").at(3), 1);
}

TEST_P(Programs, FlagAnIndexOutOfRange) {
  Graph graph;
  graph.output("y", gather(graph.input("table", f32({5, 2})), graph.input("ids", i64({3}))));
  const Program program = compile(graph, {.device = device()});
  const Tensor table = filled({5, 2}, 1);
  const std::string message = error_of([&] {
    program.run({{"table", table}, {"ids", Tensor::of(DType::i64, {3}, {0, 7, 1})}});
  });
  EXPECT_NE(message.find("gather"), std::string::npos) << message;
  EXPECT_NE(message.find("out of range"), std::string::npos) << message;
  EXPECT_EQ(program.run({{"table", table}, {"ids", Tensor::of(DType::i64, {3}, {0, 4, 1})}})
                .at("y")
                .at(0),
            1);
}

TEST_P(Programs, RefuseAnInteger64ThatDoesNotFit) {
  if (!on_gpu()) return;
  Graph graph;
  graph.output("y", maximum(graph.input("x", i64({100})), graph.input("z", i64({100}))));
  const Program program = compile(graph, {.device = device()});
  Tensor x(DType::i64, {100});
  x.set_integer(3, int64_t{1} << 40);
  EXPECT_EQ(error_of([&] {
              program.run({{"x", x}, {"z", Tensor(DType::i64, {100})}});
            }),
            "x: element 3 is 1099511627776, a device holds i64 in 32 bits");
}

TEST(TwoDevices, RunInterleavedInOneProcess) {
  std::vector<Program> programs;
  for (const Device& device : test_devices())
    programs.push_back(compile(affine(), {.device = device}));
  for (int i = 0; i < 5; ++i)
    for (const Program& program : programs)
      EXPECT_EQ(program.run({{"x", filled({2, 4}, i)}}).at("y").at(0), 2.0 * i)
          << program.device().name();
}

}  // namespace
}  // namespace rlx
