// Claims about the engine on images made by hand, on every driver named in RLX_VULKAN_DRIVERS.
#include "rlx/backend/webgpu/executor_test_util.h"

namespace rlx::detail::webgpu {
namespace {

using Want = RunRequest::Want;

INSTANTIATE_TEST_SUITE_P(Drivers, ExecutorTest, testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExecutorTest);

// y = (2 x + 1) + x, over a symbol with a bound.
ImageBuilder growing(int64_t most) {
  ImageBuilder b;
  const Number n = b.symbol("n", most);
  const ValueId x = b.input("x", n, Dim("n"));
  const ValueId t = b.value(Kind::temporary, "t", n), y = b.value(Kind::result, "y", n);
  b.step(b.image->run, b.scale(x, t, n, 2, 1));
  b.step(b.image->run, b.sum(t, x, y, n));
  b.output("y", y, Dim("n"));
  return b;
}

TEST_P(ExecutorTest, AGrowingExtentCreatesNothing) {
  const ImageBuilder builder = growing(1100);
  const ExecutablePtr program = prepared(builder);
  EXPECT_EQ(run(program, {floats({1, 2})}), (List{4, 7}));
  const Counters before = program->counters();
  for (int64_t n = 1; n <= 1000; ++n) {
    Tensor x(DType::f32, {n});
    x.set(n - 1, 3);
    const List y = run(program, {x});
    ASSERT_EQ(y.size(), static_cast<size_t>(n));
    ASSERT_EQ(y.back(), 10);
    ASSERT_EQ(y.front(), n == 1 ? 10 : 1);
  }
  const Counters made = difference(program->counters(), before);
  EXPECT_EQ(made.runs, 1000u);
  EXPECT_EQ(made.pipelines, 0u);
  EXPECT_EQ(made.plans, 0u);
  EXPECT_EQ(made.buffers, 0u);
  EXPECT_EQ(made.bind_groups, 0u);
  EXPECT_EQ(made.dispatches, 2000u);
  EXPECT_EQ(run(program, {Tensor(DType::f32, {0})}), List{});
  EXPECT_EQ(difference(program->counters(), before).dispatches, 2000u)
      << "empty results cost nothing";
}

TEST_P(ExecutorTest, ASymbolWithoutABoundGrowsItsBuffers) {
  const ImageBuilder builder = growing(0);
  const ExecutablePtr program = prepared(builder);
  for (const int64_t n : {3, 300, 5, 70000}) {
    Tensor x(DType::f32, {n});
    x.set(n - 1, 1);
    EXPECT_EQ(run(program, {x}).back(), 4);
  }
}

TEST_P(ExecutorTest, AnUnchangedInputIsNotUploadedAgain) {
  const ImageBuilder builder = growing(10);
  const ExecutablePtr program = prepared(builder);
  RunRequest request = request_of({floats({1, 2})});
  program->run(request);
  const uint64_t uploads = program->counters().uploads;
  program->run(request);
  EXPECT_EQ(program->counters().uploads, uploads);
  request.inputs[0].set(0, 5);
  program->run(request);
  EXPECT_EQ(program->counters().uploads, uploads + 1);
  EXPECT_EQ(elements(request.outputs[0]), (List{16, 7}));
}

TEST_P(ExecutorTest, TheFirstChoiceWhoseGuardHoldsRuns) {
  ImageBuilder b;
  const Number n = b.symbol("n", 100);
  const ValueId x = b.input("x", n, Dim("n")), y = b.value(Kind::result, "y", n);
  image::Dispatch dispatch = b.scale(x, y, n, 10, 0);
  const image::Dispatch other = b.scale(x, y, n, 100, 0);
  dispatch.choices[0].guard = b.compute(image::Instruction::Op::modulo, n, b.constant(2));
  dispatch.choices.push_back(other.choices[0]);
  b.step(b.image->run, dispatch);
  b.output("y", y, Dim("n"));
  const ExecutablePtr program = prepared(b);
  EXPECT_EQ(run(program, {floats({1, 2, 3})}), (List{10, 20, 30}));
  EXPECT_EQ(run(program, {floats({1, 2})}), (List{100, 200}));
}

TEST_P(ExecutorTest, ShardsAreWindowsCountedByACell) {
  ImageBuilder b;
  const auto alignment = device->traits().storage_alignment;
  const Number part = b.constant(alignment / 4), all = b.constant(3 * alignment / 4);
  const ValueId x = b.input("x", all, Dim(3 * alignment / 4));
  const ValueId y = b.value(Kind::result, "y", all);
  image::Dispatch dispatch = b.scale(x, y, part, 2, 0);
  dispatch.repeat = b.constant(3);
  dispatch.shard = b.cell();
  const Number first = b.times(dispatch.shard, b.constant(alignment));
  for (image::Bound& operand : dispatch.operands) {
    operand.first = first;
    operand.bytes = b.constant(alignment);
  }
  dispatch.segment = b.segment();
  b.step(b.image->run, dispatch);
  b.output("y", y, Dim(3 * alignment / 4));
  const ExecutablePtr program = prepared(b);
  Tensor input(DType::f32, {3 * alignment / 4});
  for (int64_t i = 0; i < input.count(); ++i) input.set(i, static_cast<double>(i));
  List want;
  for (int64_t i = 0; i < input.count(); ++i) want.push_back(2.0 * static_cast<double>(i));
  EXPECT_EQ(run(program, {input}), want);
  const Counters before = program->counters();
  EXPECT_EQ(run(program, {input}), want);
  EXPECT_EQ(difference(program->counters(), before).bind_groups, 0u);
  EXPECT_EQ(difference(program->counters(), before).dispatches, 3u);
}

TEST_P(ExecutorTest, AParamBeyond32BitsIsRefused) {
  ImageBuilder b;
  const ValueId x = b.input("x", b.constant(4), Dim(4));
  const ValueId y = b.value(Kind::result, "y", b.constant(4));
  image::Dispatch dispatch = b.scale(x, y, b.constant(4), 1, 0);
  dispatch.choices[0].words[0].number = b.constant(int64_t{1} << 33);
  b.step(b.image->run, dispatch, b.node("scale", "the node"));
  b.output("y", y, Dim(4));
  const ExecutablePtr program = prepared(b);
  const auto error = error_of([&] { run(program, {floats({1, 2, 3, 4})}); });
  says(error, ErrorKind::limit, "scale: a param is 8589934592, a kernel counts in 32 bits");
  says(error, ErrorKind::limit, "at node 'the node'");
}

TEST_P(ExecutorTest, AStateIsUpdatedInPlaceWrittenAndRead) {
  ImageBuilder b;
  const Number two = b.constant(2);
  const ValueId s = b.state("s", 2), next = b.value(Kind::result, "next", two);
  b.image->values[size_t(next)].place = s;
  b.image->states[0].next = next;
  b.step(b.image->run, b.scale(-1, next, two, 2, 1));
  b.output("y", next, Dim(2));
  const ExecutablePtr program = prepared(b);
  EXPECT_EQ(elements(program->read_state("s")), (List{0, 0}));
  EXPECT_EQ(run(program, {}), (List{1, 1}));
  EXPECT_EQ(run(program, {}), (List{3, 3}));
  EXPECT_EQ(elements(program->read_state("s")), (List{3, 3}));
  program->write_state("s", floats({10, 20}));
  EXPECT_EQ(elements(program->read_state("s")), (List{10, 20}));
  EXPECT_EQ(run(program, {}), (List{21, 41}));
  std::optional<Result<Tensor>> read;
  program->read_state_async("s", [&](Result<Tensor> tensor) { read.emplace(std::move(tensor)); });
  device->wait_until([&] { return read.has_value(); });
  EXPECT_EQ(elements(read->take()), (List{21, 41}));
}

// i = 0; while (i < count[0]) { s = s + 1; i += 1 }
ImageBuilder loop(bool on_device) {
  ImageBuilder b;
  const Number one = b.constant(1);
  const ValueId count = b.input("count", one, Dim(1), DType::i32);
  const ValueId s = b.value(Kind::result, "s", one);
  const Number times = b.symbol("times", 1 << 30), i = b.symbol("i", 1 << 30);
  const Number left = b.compute(image::Instruction::Op::maximum,
                                b.add(times, b.times(i, b.constant(-1))), b.constant(0));
  const Number next = b.add(i, one);
  image::Dispatch dispatch = b.scale(-1, s, one, 1, 1);
  const int32_t segment = b.segment();
  ValueId fetched = count;
  if (on_device) {
    fetched = b.value(Kind::temporary, "copy", one, DType::i32);
    image::Copy copy;
    copy.source.value = count;
    copy.target.value = fetched;
    b.step(b.image->run, copy);
  }
  image::Fetch fetch;
  fetch.value = fetched;
  fetch.elements = {times};
  fetch.segment = segment;
  fetch.reason = "the loop's count";
  b.step(b.image->run, fetch);
  b.step(b.image->run, image::Clear{s});
  image::Bind begin;
  begin.number = i;
  begin.from = b.constant(0);
  begin.segment = segment;
  b.step(b.image->run, begin);
  const auto top = static_cast<int32_t>(b.image->run.size());
  b.step(b.image->run, image::Jump{top + 4, left});
  b.step(b.image->run, dispatch);
  image::Bind increment = begin;
  increment.from = next;
  b.step(b.image->run, increment);
  b.step(b.image->run, image::Jump{top, kNone});
  b.output("s", s, Dim(1));
  return b;
}

TEST_P(ExecutorTest, AFetchSteersALoop) {
  for (const bool on_device : {true, false}) {
    const ExecutablePtr program = prepared(loop(on_device));
    EXPECT_EQ(run(program, {integers({3})}), List{3});
    EXPECT_EQ(run(program, {integers({0})}), List{0});
    RunReport report;
    RunRequest request = request_of({integers({7})});
    request.report = &report;
    program->run(request);
    EXPECT_EQ(elements(request.outputs[0]), List{7});
    EXPECT_EQ(report.counters.readbacks, on_device ? 2u : 1u);
    EXPECT_EQ(report.dispatches.size(), 7u);
    EXPECT_EQ(report.dispatches[0].kernel, "scale_in_place");
    EXPECT_EQ(report.dispatches[0].shape, "f32[1]");
    for (const DispatchReport& dispatch : report.dispatches)
      EXPECT_GE(dispatch.microseconds, 0) << "timed by the device";
    ASSERT_EQ(report.host_steps.size(), 1u);
    EXPECT_EQ(report.host_steps[0].reason, "the loop's count");
  }
}

TEST_P(ExecutorTest, ALongLoopIsSubmittedInPieces) {
  const ExecutablePtr program = prepared(loop(true));
  EXPECT_EQ(run(program, {integers({2000})}), List{2000});
  const Counters before = program->counters();
  EXPECT_EQ(run(program, {integers({10000})}), List{10000});
  const Counters made = difference(program->counters(), before);
  EXPECT_GE(made.submits, 10u);
  EXPECT_LE(made.submits, 14u);
  EXPECT_EQ(made.dispatches, 10000u);
  EXPECT_EQ(made.buffers, 0u);
  EXPECT_EQ(made.bind_groups, 0u);
}

// y = x + (2 w + 1), the second part computed once.
ImageBuilder with_once(const Tensor& tensor) {
  ImageBuilder b;
  const Number two = b.constant(2);
  const ValueId w = b.weight("w", tensor);
  b.image->values[size_t(w)].once_only = true;
  const ValueId t = b.value(Kind::temporary, "t", two), folded = b.value(Kind::once, "folded", two);
  const ValueId x = b.input("x", two, Dim(2)), y = b.value(Kind::result, "y", two);
  b.step(b.image->once, b.scale(w, t, two, 2, 0));
  b.step(b.image->once, b.scale(t, folded, two, 1, 1));
  b.step(b.image->run, b.sum(x, folded, y, two));
  b.output("y", y, Dim(2));
  return b;
}

TEST_P(ExecutorTest, WhatRunsOnceFollowsItsWeightsAndTheDevice) {
  const Tensor w = floats({1, 2});
  const ExecutablePtr program = prepared(with_once(w));
  EXPECT_EQ(device->connect()->weights.size(), 0u) << "only what runs once reads it";
  EXPECT_EQ(run(program, {floats({10, 20})}), (List{13, 25}));
  const Counters before = program->counters();
  EXPECT_EQ(run(program, {floats({0, 0})}), (List{3, 5}));
  EXPECT_EQ(difference(program->counters(), before).dispatches, 1u);
  program->set_weight("w", floats({5, 6}));
  EXPECT_EQ(run(program, {floats({0, 0})}), (List{11, 13}));
  device->gpu()->force_loss("a test");
  EXPECT_EQ(run(program, {floats({0, 0})}), (List{11, 13}));
}

TEST_P(ExecutorTest, AWeightGivenLaterIsComputedOnceAtTheFirstRun) {
  ImageBuilder b = with_once(floats({1, 2}));
  b.image->values[0].source = -1;
  const ExecutablePtr program = prepared(b);
  says(error_of([&] {
         run(program, {floats({0, 0})});
       }),
       ErrorKind::invalid_input, "weight 'w' has no tensor");
  program->set_weight("w", floats({1, 2}));
  EXPECT_EQ(run(program, {floats({0, 0})}), (List{3, 5}));
}

ImageBuilder with_weight(const Tensor& tensor) {
  ImageBuilder b;
  const Number two = b.constant(2);
  const ValueId w = b.weight("w", tensor), x = b.input("x", two, Dim(2));
  const ValueId y = b.value(Kind::result, "y", two);
  b.step(b.image->run, b.sum(x, w, y, two));
  b.output("y", y, Dim(2));
  return b;
}

TEST_P(ExecutorTest, ProgramsShareTheWeightsTheyReadAndPipelines) {
  const Tensor w = floats({1, 2});
  const Tensor zero(DType::f32, {2});
  ExecutablePtr a = prepared(with_weight(w)), b = prepared(with_weight(w));
  EXPECT_EQ(run(a, {zero}), (List{1, 2}));
  EXPECT_EQ(a->counters().uploads, 2u);
  EXPECT_EQ(run(b, {zero}), (List{1, 2}));
  EXPECT_EQ(b->counters().uploads, 1u) << "its input";
  EXPECT_EQ(b->counters().pipelines, 0u);
  EXPECT_EQ(device->connect()->weights.size(), 1u);
  a->set_weight("w", floats({7, 8}));
  EXPECT_EQ(run(a, {zero}), (List{7, 8}));
  EXPECT_EQ(run(b, {zero}), (List{1, 2}));
  EXPECT_EQ(device->connect()->weights.size(), 2u);
  a = nullptr;
  EXPECT_EQ(device->connect()->weights.size(), 1u);
  EXPECT_EQ(run(b, {zero}), (List{1, 2}));
  b = nullptr;
  EXPECT_EQ(device->connect()->weights.size(), 0u);
}

TEST_P(ExecutorTest, PipelinesAreBoundedAndTheOldestGoes) {
  const auto tickets = std::make_shared<Tickets>();
  const auto pipelines = std::make_shared<Pipelines>(tickets, 2);
  const std::shared_ptr<Gpu> gpu = device->gpu();
  uint64_t compiled = 0;
  const auto get = [&](int variant) {
    image::Kernel kernel;
    kernel.name = "scale";
    kernel.wgsl = std::string(kScaleWgsl) + "\n// " + std::to_string(variant);
    kernel.bindings = {Access::read, Access::write};
    kernel.params_bytes = 16;
    std::optional<Result<PipelineList>> made;
    std::optional<PipelineList> there =
        pipelines->get(gpu, {&kernel}, compiled,
                       [&](Result<PipelineList> list) { made.emplace(std::move(list)); });
    if (!there) tickets->wait(nullptr, [&] { return made.has_value(); });
    return there ? (*there)[0] : made->take()[0];
  };
  const PipelinePtr first = get(1);
  EXPECT_EQ(get(1), first);
  EXPECT_EQ(compiled, 1u);
  get(2);
  get(1);
  get(3);
  EXPECT_EQ(pipelines->size(), 2u);
  EXPECT_EQ(compiled, 3u);
  get(1);
  EXPECT_EQ(compiled, 3u) << "it was used before the others";
  get(2);
  EXPECT_EQ(compiled, 4u);
}

TEST_P(ExecutorTest, ABrokenKernelIsReportedWithItsPlace) {
  ImageBuilder b = growing(4);
  b.image->kernels[0].name = "broken";
  b.image->kernels[0].wgsl = "// made\n\n@compute @workgroup_size(1) fn main() { let x = ; }";
  b.image->kernels[0].sections = {{1, ""}, {2, "broken.wgsl"}};
  const auto error = error_of([&] { prepared(b); });
  says(error, ErrorKind::device, "kernel broken: broken.wgsl:2:");
}

TEST_P(ExecutorTest, ACallRunsOnTheHostAndTellsExtents) {
  ImageBuilder b;
  const Number four = b.constant(4), found = b.symbol("found");
  b.image->planned_by.clear();
  const ValueId x = b.input("x", four, Dim(4)), twice = b.value(Kind::result, "twice", four);
  const ValueId positive = b.value(Kind::result, "positive", found);
  const ValueId y = b.value(Kind::result, "y", found);
  b.step(b.image->run, b.scale(x, twice, four, 2, 0));
  image::Call call;
  call.op = "positives";
  image::Operand operand;
  operand.value = twice;
  operand.shape = {four};
  call.inputs = {operand};
  call.results = {positive};
  call.told = {{0, 0, found}};
  call.reason = "a test";
  const image::Dispatch after = b.scale(positive, y, found, 1, 1);
  call.segment = b.segment();
  b.step(b.image->run, call, b.node("positives", "p"));
  b.step(b.image->run, after);
  b.output("y", y, Dim("found"));
  (*implementations)["positives"] = {implementation_of([](image::CallSite& site) {
    std::vector<double> kept;
    for (const double each : elements(*site.in(0)))
      if (each > 0) kept.push_back(each);
    site.results[0] = floats(kept);
  })};
  const ExecutablePtr program = prepared(b);
  EXPECT_EQ(run(program, {floats({1, -2, 3, 4})}), (List{3, 7, 9}));
  EXPECT_EQ(run(program, {floats({-1, -2, -3, 4})}), (List{9}));
  EXPECT_EQ(run(program, {floats({-1, -2, -3, -4})}), (List{}));
  RunReport report;
  RunRequest request = request_of({floats({1, 1, 1, 1})});
  request.report = &report;
  program->run(request);
  EXPECT_EQ(elements(request.outputs[0]), (List{3, 3, 3, 3}));
  ASSERT_EQ(report.host_steps.size(), 1u);
  EXPECT_EQ(report.host_steps[0].node, "p");
  EXPECT_EQ(report.host_steps[0].implementation, "test");
  implementations->clear();
  says(error_of([&] { prepared(b); }), ErrorKind::unsupported, "no implementation of 'positives'");
}

TEST_P(ExecutorTest, TensorsStayOnTheDeviceInTurn) {
  const ImageBuilder builder = growing(8);
  const ExecutablePtr program = prepared(builder);
  RunRequest request = request_of({floats({1, 2})}, {Want::device});
  program->run(request);
  EXPECT_EQ(elements(request.device_outputs[0].read()), (List{4, 7}));
  RunRequest again = request_of({Tensor()}, {Want::device});
  again.device_inputs = {request.device_outputs[0]};
  program->run(again);
  EXPECT_EQ(elements(again.device_outputs[0].read()), (List{13, 22}));
  std::swap(again.device_inputs[0], again.device_outputs[0]);
  request = {};
  program->run(again);  // both buffers have been seen as input from now on
  std::swap(again.device_inputs[0], again.device_outputs[0]);
  program->run(again);
  const Counters before = program->counters();
  for (int i = 0; i < 10; ++i) {
    std::swap(again.device_inputs[0], again.device_outputs[0]);
    program->run(again);
  }
  EXPECT_EQ(difference(program->counters(), before).buffers, 0u);
  EXPECT_EQ(difference(program->counters(), before).bind_groups, 0u);
  std::optional<Result<Tensor>> read;
  again.device_outputs[0].read_async([&](Result<Tensor> made) { read.emplace(std::move(made)); });
  device->wait_until([&] { return read.has_value(); });
  EXPECT_EQ(read->take().shape(), Shape{2});
}

TEST_P(ExecutorTest, ATensorOfAnotherDeviceGoesThroughTheHost) {
  const ImageBuilder builder = growing(8);
  const auto other = std::make_shared<WebGpuDevice>(adapter->info(), opener_of(adapter));
  const ExecutablePtr there = prepare(*other, {builder.image, implementations, 0});
  RunRequest request = request_of({floats({1, 2})}, {Want::device});
  there->run(request);
  RunRequest here = request_of({Tensor()});
  here.device_inputs = request.device_outputs;
  prepared(builder)->run(here);
  EXPECT_EQ(elements(here.outputs[0]), (List{13, 22}));
}

TEST_P(ExecutorTest, ABudgetRefusesBeforeAnythingIsAllocated) {
  const ImageBuilder builder = growing(0);
  const ExecutablePtr program = prepared(builder, 1000);
  EXPECT_EQ(run(program, {floats({1, 2})}), (List{4, 7}));
  const uint64_t buffers = program->counters().buffers;
  says(error_of([&] { run(program, {Tensor(DType::f32, {500})}); }), ErrorKind::limit,
       "the budget is 1000");
  EXPECT_EQ(program->counters().buffers, buffers);
  EXPECT_EQ(run(program, {floats({1, 2})}), (List{4, 7}));
}

}  // namespace
}  // namespace rlx::detail::webgpu
