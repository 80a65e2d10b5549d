// What programs keep, and what they share: snapshots of states, results that are computed once,
// plans; and images that say what they are.
#include <gtest/gtest.h>

#include "rlx/backend/binding.h"
#include "rlx/backend/webgpu/webgpu_device.h"
#include "rlx/conformance/device_test.h"
#include "rlx/op.h"
#include "rlx/ops/ops_core.h"
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

class Kept : public DeviceTest {
 protected:
  webgpu::WebGpuDevice* gpu_device() const {
    return dynamic_cast<webgpu::WebGpuDevice*>(backend_of(device()).get());
  }
  void lose_device() const { gpu_device()->gpu()->force_loss("a test"); }
};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Kept, every_device(), device_name);

// ---- Snapshots ---------------------------------------------------------------------------------

Graph counting() {
  Graph graph;
  const Value x = graph.input("x", f32({2})), total = graph.state("total", f32({2}));
  const Value last = graph.state("last", f32({2}));
  graph.update(total, total + x);
  graph.update(last, x);
  graph.output("y", total + last);
  return graph;
}

struct Counting {
  explicit Counting(const Device& device) : program(compile(counting(), {.device = device})) {}
  RunReport run(double x) {
    RunReport report;
    RunOptions options;
    options.report = &report;
    program.run({{"x", filled({2}, x)}}, options);
    return report;
  }
  double state(const char* name) { return program.read_state(name).at(1); }
  Program program;
};

TEST_P(Kept, ASnapshotBringsAllStatesBack) {
  Counting counting(device());
  EXPECT_EQ(error_of([&] { counting.program.restore_snapshot(); }),
            "restore_snapshot: there is no snapshot of 'total', 'last'");
  counting.run(3);
  counting.program.take_snapshot();
  counting.run(4);
  for (int again = 0; again < 2; ++again) {
    counting.program.restore_snapshot();
    EXPECT_EQ(counting.state("total"), 3);
    EXPECT_EQ(counting.state("last"), 3);
    counting.run(5);
    EXPECT_EQ(counting.state("total"), 8);
  }
  bool taken = false;
  counting.program.take_snapshot_async([&](Result<bool> result) { taken = result.take(); });
  counting.program.wait();
  EXPECT_TRUE(taken);
  counting.run(1);
  counting.program.restore_snapshot();
  EXPECT_EQ(counting.state("total"), 8);
}

TEST_P(Kept, AWrittenStateHasNoSnapshotAnyMore) {
  Counting counting(device());
  counting.run(3);
  counting.program.take_snapshot();
  counting.program.write_state("total", filled({2}, 0));
  EXPECT_EQ(error_of([&] { counting.program.restore_snapshot(); }),
            "restore_snapshot: there is no snapshot of 'total'");
  EXPECT_EQ(counting.state("total"), 0);
}

TEST_P(Kept, ALostDeviceGoesOnFromTheSnapshotAndSaysSo) {
  if (device().is_cpu()) return;
  Counting counting(device());
  counting.run(3);
  counting.program.take_snapshot();
  counting.run(4);
  lose_device();
  EXPECT_EQ(counting.state("total"), 3);
  const RunReport report = counting.run(5);
  EXPECT_EQ(report.restored_states, (std::vector<std::string>{"total", "last"}));
  EXPECT_EQ(counting.state("total"), 8);
  EXPECT_TRUE(counting.run(1).restored_states.empty());

  // What was written since is no old value to go back to.
  counting.program.write_state("total", filled({2}, 100));
  counting.run(1);
  lose_device();
  const std::string message = error_of([&] { counting.run(1); });
  EXPECT_NE(message.find("state 'total' must be written or reset"), std::string::npos) << message;
  counting.program.reset_state();
  counting.run(2);
  EXPECT_EQ(counting.state("total"), 2);
}

// A state is updated behind its last reader, and the run goes on.
TEST_P(Kept, AStateThatWasUpdatedBeforeItsRunFailedIsNoState) {
  Graph graph;
  const Value x = graph.input("x", f32({4, 4})), last = graph.state("last", f32({4, 4}));
  const Value next = softmax(x);
  const Value y = matmul(next, last);
  graph.update(last, next);
  graph.output("z", gather(softmax(y, 0), graph.input("i", i64({1}))));
  Program program = compile(graph, {.device = device()});
  const auto run = [&](double index) {
    return error_of([&] {
      program.run({{"x", filled({4, 4}, 1)}, {"i", Tensor::of(DType::i64, {1}, {index})}});
    });
  };
  EXPECT_EQ(run(0), "");
  EXPECT_NE(run(100).find("gather: index 100 is out of range"), std::string::npos);
  EXPECT_NE(run(0).find("state 'last'"), std::string::npos);
  program.write_state("last", filled({4, 4}, 1));
  EXPECT_EQ(run(0), "");
  EXPECT_EQ(program.read_state("last").at(0), 0.25);
}

// ---- Computed once, for all --------------------------------------------------------------------

// exp(w) is computed once; what is done with x differs.
Graph folded(const Tensor& w, bool other) {
  Graph graph;
  const Value x = graph.input("x", f32({"n", w.shape()[0]}));
  const Value y = matmul(other ? x + x : x, exp(graph.weight("w", w)));
  graph.output("y", y);
  if (other) graph.output("z", relu(y));
  return graph;
}

uint64_t steps_of(const Program& program) {
  const Counters counters = program.counters();
  return counters.dispatches + counters.host_steps;
}

TEST_P(Kept, WhatIsComputedOnceIsSharedByPrograms) {
  for (const int64_t size : {4, 64}) {  // small tensors are known by their elements
    const Tensor w = filled({size, size}, 0), x = filled({3, size}, 1);
    const auto y = [&](const Program& program) { return program.run({{"x", x}}).at("y").at(0); };
    const auto held = [&] { return gpu_device() ? gpu_device()->connect()->once.size() : 0; };
    const size_t before = held();
    Program a = compile(folded(w, false), {.device = device()});
    ASSERT_EQ(image_of(a).once.size(), 1u);
    // Counters are told by runs, so that one has to be made.
    EXPECT_EQ(y(a), static_cast<double>(size));
    const uint64_t steps = steps_of(a);
    std::optional<Program> b = compile(folded(w, false), {.device = device()});
    const Program c = compile(folded(w, true), {.device = device()});
    EXPECT_EQ(y(*b), static_cast<double>(size));
    EXPECT_EQ(steps_of(*b), steps - 1) << "it is there already";
    EXPECT_EQ(y(c), 2.0 * static_cast<double>(size));
    if (gpu_device()) EXPECT_EQ(held(), before + 1);

    a.set_weight("w", filled({size, size}, 1));
    EXPECT_NEAR(y(a), 2.718281828 * static_cast<double>(size), 1e-3);
    EXPECT_EQ(y(*b), static_cast<double>(size)) << "its own weight is as it was";
    if (gpu_device()) EXPECT_EQ(held(), before + 2);
    b.reset();
    EXPECT_EQ(y(c), 2.0 * static_cast<double>(size));
    a = c;
    if (gpu_device()) EXPECT_EQ(held(), before + 1);
    if (!gpu_device()) continue;
    lose_device();
    EXPECT_EQ(y(c), 2.0 * static_cast<double>(size));
  }
}

TEST_P(Kept, PartsOfOnceWithOtherWeightsAreNotMixedUp) {
  Graph graph;
  const Value x = graph.input("x", f32({8, 8}));
  graph.output("a", x * exp(graph.weight("u", filled({8, 8}, 0))));
  graph.output("b", x * exp(graph.weight("v", filled({8, 8}, 1))));
  graph.output("c", x * sin(graph.weight("w", filled({8, 8}, 0))));
  const Program program = compile(graph, {.device = device()});
  const TensorMap outputs = program.run({{"x", filled({8, 8}, 1)}});
  EXPECT_EQ(outputs.at("a").at(5), 1);
  EXPECT_NEAR(outputs.at("b").at(5), 2.718281828, 1e-5);
  EXPECT_EQ(outputs.at("c").at(5), 0);
}

OpRef versioned(int32_t version) {
  OpDef op;
  op.name = "test.versioned";
  op.family = "test";
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite& site) { site.out() = site.in(0).copy(); };
  op.host_reason = "a test";
  op.version = version;
  return std::make_shared<const OpDef>(op);
}

// On a device as well: it has no kernel, and the host calls what each of them says.
TEST_P(Kept, WhatTwoOpsOfOneNameComputeOnceIsNotMixedUp) {
  const Tensor w = filled({64, 64}, 3);
  const auto made = [&](double factor) {
    OpDef op = *versioned(1);
    op.reference = [factor](const ReferenceSite& site) {
      for (int64_t i = 0; i < site.in(0).count(); ++i) site.out().set(i, factor * site.in(0).at(i));
    };
    Graph graph;
    const Value scaled = graph.add(std::make_shared<const OpDef>(op), {graph.weight("w", w)});
    graph.output("y", graph.input("x", f32({64, 64})) + scaled);
    Program program = compile(graph, {.device = device()});
    EXPECT_EQ(image_of(program).once.size(), 1u);
    return program;
  };
  const Program two = made(2), five = made(5);
  EXPECT_EQ(two.run({{"x", filled({64, 64}, 1)}}).at("y").at(0), 7);
  EXPECT_EQ(five.run({{"x", filled({64, 64}, 1)}}).at("y").at(0), 16);
}

// The elements of a weight that are not 0, and as many rows of x as another weight says.
Graph telling(const Tensor& marks, const Tensor& rows) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"}));
  const Value at = reshape(non_zero(graph.weight("marks", marks)), {-1});
  graph.output("taken", gather(x, at));
  graph.output("first", slice(x, graph.constant(Tensor::of(DType::i64, {1}, {0})),
                              graph.weight("rows", rows)));
  return graph;
}
Tensor marks(int64_t every) {
  Tensor tensor(DType::f32, {1200});
  for (int64_t i = 0; i < 1200; i += every) tensor.set(i, 1);
  return tensor;
}

// Extents that weights tell are those of the program: no run asks for them.
TEST_P(Kept, WhatWeightsTellIsToldOnce) {
  const auto rows = [](double count) { return Tensor::of(DType::i64, {1}, {count}); };
  Program program = compile(telling(marks(5), rows(7)), {.device = device()});
  const image::Image& image = image_of(program);
  EXPECT_FALSE(cells_told_by(image.once).empty());
  EXPECT_TRUE(cells_told_by(image.run).empty());
  const auto expect_extents = [&](int64_t taken, int64_t first) {
    for (const int64_t n : {1300, 1200}) program.run({{"x", filled({n}, 3)}});
    for (const int64_t n : {1200, 1300, 1200}) {
      RunReport report;
      RunOptions options;
      options.report = &report;
      const TensorMap outputs = program.run({{"x", filled({n}, 3)}}, options).tensors;
      EXPECT_EQ(outputs.at("taken").shape(), Shape{taken});
      EXPECT_EQ(outputs.at("first").shape(), Shape{first});
      EXPECT_EQ(outputs.at("taken").at(taken - 1), 3);
      EXPECT_EQ(report.counters.plans, 0u);
    }
  };
  expect_extents(240, 7);
  program.set_weight("rows", rows(9));
  program.set_weight("marks", marks(6));
  expect_extents(200, 9);
  const Program other = compile(telling(marks(4), rows(2)), {.device = device()});
  EXPECT_EQ(other.run({{"x", filled({1200}, 3)}}).at("taken").shape(), Shape{300});
  expect_extents(200, 9);
  if (!gpu_device()) return;
  lose_device();
  expect_extents(200, 9);
}

// A weight that is given later tells when it is there.
TEST_P(Kept, WhatAMissingWeightTellsIsToldWhenItIsGiven) {
  Graph graph;
  const Value x = graph.input("x", f32({1200}));
  graph.output("taken", gather(x, reshape(non_zero(graph.weight("marks", f32({1200}))), {-1})));
  Program program = compile(graph, {.device = device()});
  EXPECT_NE(error_of([&] {
              program.run({{"x", filled({1200}, 3)}});
            }).find("has no tensor"),
            std::string::npos);
  program.set_weight("marks", marks(100));
  EXPECT_EQ(program.run({{"x", filled({1200}, 3)}}).at("taken").shape(), Shape{12});
}

// ---- Caches ------------------------------------------------------------------------------------

// Nothing of the first run is read: who reads what was made of it is told, and its program is not
// told again.
TEST_P(Kept, AnErrorGoesWithWhatStaysOnTheDeviceIntoOtherPrograms) {
  Graph first, second;
  first.output("y", gather(first.input("x", f32({4})), first.input("i", i64({2}))));
  second.output("z", exp(second.input("y", f32({2}))));
  const Program p = compile(first, {.device = device()}), q = compile(second, {.device = device()});
  const auto run = [&](double index, const std::vector<std::string>& kept) {
    RunOptions keep, options;
    keep.keep_on_device = {"y"};
    options.keep_on_device = kept;
    options.device_inputs = {{"y", p.run({{"x", Tensor(DType::f32, {4})},
                                          {"i", Tensor::of(DType::i64, {2}, {index, 0})}},
                                         keep)
                                       .device_tensors.at("y")}};
    const RunResult result = q.run({}, options);
    return kept.empty() ? result.tensors.at("z") : result.device_tensors.at("z").read();
  };
  for (const std::vector<std::string>& kept : {std::vector<std::string>{}, {"z"}}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_NE(error_of([&] { run(100, kept); }).find("gather: index 100 is out of range"),
                std::string::npos);
      EXPECT_EQ(run(1, kept).at(0), 1);
    }
  }
}

TEST_P(Kept, PlansAreBoundedAndCounted) {
  Graph graph;
  const Value x = graph.input("x", f32({"n"}));
  graph.output("y", exp(x) + sin(x));
  const Program program = compile(graph, {.device = device(), .disabled_passes = {"fuse"}});
  RunReport report;
  RunOptions options;
  options.report = &report;
  for (int64_t n = 1; n <= 20; ++n) program.run({{"x", filled({n}, 0)}}, options);
  ASSERT_FALSE(report.caches.empty());
  EXPECT_EQ(report.caches[0].of, "plans");
  EXPECT_EQ(report.caches[0].held, report.caches[0].most);
  EXPECT_EQ(report.caches[0].dropped, 20 - report.caches[0].most);
  EXPECT_EQ(program.counters().plans, 20u);
  program.run({{"x", filled({20}, 0)}});
  EXPECT_EQ(program.counters().plans, 20u) << "the last is kept";
  program.run({{"x", filled({1}, 0)}});
  EXPECT_EQ(program.counters().plans, 21u) << "the first made room";
  if (!gpu_device()) return;
  ASSERT_EQ(report.caches.size(), 2u);
  EXPECT_EQ(report.caches[1].of, "pipelines");
  EXPECT_GT(report.caches[1].held, 0);
}

// ---- Images ------------------------------------------------------------------------------------

TEST_P(Kept, AnImageOfAnotherVersionOfAnOpIsAnError) {
  Graph graph;
  graph.output("y", graph.add(versioned(1), {graph.input("x", f32({2}))}));
  const Image image = compile_image(graph, {.device = device()});
  OpSet same, newer;
  same.add(versioned(1));
  newer.add(versioned(2));
  EXPECT_EQ(prepare(device(), image, same).run({{"x", filled({2}, 4)}}).at("y").at(0), 4);
  const std::string message = error_of([&] { prepare(device(), image, newer); });
  EXPECT_EQ(message.find("the image calls version 1 of 'test.versioned', and here is version 2: "
                         "compile the model again"),
            0u)
      << message;
}

TEST_P(Kept, ImagesHaveAHashOfAllThatIsInThem) {
  const CompileOptions options{.device = device()};
  const Image image = compile_image(folded(filled({4, 4}, 1), false), options);
  EXPECT_EQ(image.hash(), compile_image(folded(filled({4, 4}, 1), false), options).hash());
  EXPECT_NE(image.hash(), compile_image(folded(filled({4, 4}, 2), false), options).hash());
  EXPECT_NE(image.hash(), compile_image(folded(filled({4, 4}, 1), true), options).hash());
  const std::string path = testing::TempDir() + "kept_" + device().name() + ".rlxi";
  write_image(path, image);
  EXPECT_EQ(read_image(path).hash(), image.hash());
}

// ---- Several kernels for one dispatch ----------------------------------------------------------

TEST_P(Kept, ASingleRowHasAKernelOfItsOwnWhereTheRunDecides) {
  for (const int64_t variant : {0, 1}) {
    Graph graph;
    const Value x = graph.input("x", f32({"rows", 12}));
    graph.output("y", matmul(x, graph.input("w", f32({12, 70}))));
    const Program program =
        compile(graph, {.device = device(), .choices = {{"matmul.variant", variant}}});
    if (gpu_device()) {
      const image::Steps& steps = image_of(program).run;
      ASSERT_EQ(steps.size(), 1u);
      EXPECT_EQ(std::get<image::Dispatch>(steps[0].what).choices.size(), variant == 0 ? 2u : 3u);
    }
    Tensor w(DType::f32, {12, 70});
    for (int64_t i = 0; i < w.count(); ++i) w.set(i, static_cast<double>(i % 7) - 3);
    uint64_t pipelines = 0;
    for (const int64_t rows : {0, 1, 2, 7, 8, 9, 130}) {
      Tensor a(DType::f32, {rows, 12});
      for (int64_t i = 0; i < a.count(); ++i) a.set(i, static_cast<double>(i % 5) - 2);
      const Tensor y = program.run({{"x", a}, {"w", w}}).at("y");
      const Tensor want = evaluate(graph, {{"x", a}, {"w", w}}).outputs.at("y");
      ASSERT_EQ(y.shape(), want.shape());
      for (int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.at(i), want.at(i)) << rows << ", " << i;
      if (rows == 1) pipelines = program.counters().pipelines;
    }
    EXPECT_EQ(program.counters().pipelines, pipelines) << "all are made at preparation";
  }
}

}  // namespace
}  // namespace rlx
