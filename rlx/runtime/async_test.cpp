// What a user of the asynchronous forms sees: devices, programs, tensors and states by callback.
#include <gtest/gtest.h>

#include <stdexcept>

#include "rlx/conformance/device_test.h"
#include "rlx/op.h"
#include "rlx/ops/ops_core.h"
#include "rlx/runtime/program.h"
#include "rlx/testing.h"

namespace rlx {
namespace {

class Asynchronous : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(EveryDevice, Asynchronous, every_device(), device_name);

Graph counting() {
  Graph graph;
  const Value x = graph.input("x", f32({"n"})), total = graph.state("total", f32({}));
  graph.update(total, total + sum(x));
  graph.output("y", x + x);
  return graph;
}

std::vector<std::string> names(const FoundDevices& found) {
  std::vector<std::string> list;
  for (const FoundDevice& each : found.devices) list.push_back(each.device.name());
  return list;
}

TEST(FindDevices, AsynchronouslyFindsWhatTheBlockingFormFinds) {
  FindOptions options = test_find_options();
  options.vulkan_drivers.emplace_back("/nowhere/icd.json");
  std::optional<Result<FoundDevices>> result;
  const DeviceSearch search = find_devices_async(
      options, [&](Result<FoundDevices> found) { result.emplace(std::move(found)); });
  if (test_devices().size() > 1) EXPECT_FALSE(result) << "nobody has waited yet";
  search.wait();
  ASSERT_TRUE(result);
  const FoundDevices found = result->take(), blocking = find_all_devices(options);
  EXPECT_EQ(names(found), names(blocking));
  EXPECT_EQ(found.missing.size(), blocking.missing.size());
  EXPECT_EQ(found.automatic, blocking.automatic);
  search.wait();  // it is over
}

TEST(FindDevices, ASearchThatIsDroppedEndsOnce) {
  int found = 0, dropped = 0;
  find_devices_async(test_find_options(), [&](const Result<FoundDevices>& result) {
    ++(result.ok() ? found : dropped);
  });
  EXPECT_EQ(found + dropped, 1);
  if (test_devices().size() > 1) EXPECT_EQ(dropped, 1);
}

TEST_P(Asynchronous, ProgramsTensorsAndStatesComeByCallback) {
  std::optional<Program> program;
  compile_async(counting(), {.device = device()},
                [&](Result<Program> made) { program = made.take(); });
  device().wait();
  ASSERT_TRUE(program);

  std::optional<RunResult> result;
  RunOptions options;
  options.keep_on_device = {"y"};
  program->run_async({{"x", Tensor::of(DType::f32, {2}, {3, 4})}}, options,
                     [&](Result<RunResult> ran) { result = ran.take(); });
  program->wait();
  ASSERT_TRUE(result);

  std::optional<Tensor> y, total;
  result->device_tensors.at("y").read_async([&](Result<Tensor> read) { y = read.take(); });
  device().wait();
  ASSERT_TRUE(y);
  EXPECT_EQ(y->at(1), 8);
  program->read_state_async("total", [&](Result<Tensor> read) { total = read.take(); });
  program->wait();
  ASSERT_TRUE(total);
  EXPECT_EQ(total->at(0), 7);
}

// ---- Whatever fails comes by callback ----------------------------------------------------------

TEST_P(Asynchronous, InputsThatDoNotFitAreToldByCallback) {
  const Program program = compile(counting(), {.device = device()});
  std::string said;
  program.run_async({}, [&](const Result<TensorMap>& result) { said = result.error().what(); });
  program.wait();
  EXPECT_EQ(said, "run: input 'x' is missing");
}

// An op of a user's that throws what is no Error.
Graph throwing(bool when_lowered) {
  OpDef op;
  op.name = "user.throws";
  op.infer = [](const InferSite& site) { return Types{site.in(0)}; };
  op.reference = [](const ReferenceSite&) { throw std::runtime_error("a user's own"); };
  op.host_reason = "a test";
  if (when_lowered)
    op.lower = [](const LowerSite&) -> Steps { throw std::runtime_error("a user's own"); };
  Graph graph;
  const Value w = graph.weight("w", Tensor(DType::f32, {2}));
  graph.output("y", graph.input("x", f32({2})) + graph.add(std::make_shared<OpDef>(op), {w}));
  return graph;
}

TEST_P(Asynchronous, WhatAUsersOpThrowsIsToldByCallback) {
  for (const bool when_lowered : {false, true}) {
    if (when_lowered && device().is_cpu()) continue;  // it calls the reference
    std::string said;
    compile_async(throwing(when_lowered), {.device = device()}, [&](const Result<Program>& made) {
      said = made.ok() ? "nothing" : made.error().what();
    });
    device().wait();
    EXPECT_NE(said.find("a user's own"), std::string::npos) << said;
  }
}

TEST_P(Asynchronous, ATensorOfAnyOtherDeviceIsAnInput) {
  for (const Device& other : test_devices()) {
    const Program there = compile(counting(), {.device = other});
    const Program here = compile(counting(), {.device = device()});
    RunOptions keep;
    keep.keep_on_device = {"y"};
    const RunResult made = there.run({{"x", Tensor::of(DType::f32, {2}, {3, 4})}}, keep);
    RunOptions take;
    take.device_inputs = {{"x", made.device_tensors.at("y")}};
    EXPECT_EQ(here.run({}, take).tensors.at("y").at(1), 16) << other.name();
    std::optional<RunResult> result;
    here.run_async({}, take, [&](Result<RunResult> ran) { result = ran.take(); });
    here.wait();
    ASSERT_TRUE(result) << other.name();
    EXPECT_EQ(result->tensors.at("y").at(0), 12) << other.name();
  }
}

}  // namespace
}  // namespace rlx
