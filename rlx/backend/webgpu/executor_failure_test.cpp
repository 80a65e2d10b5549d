// Claims about the engine when things go wrong: flags, failed runs, lost devices, users' callbacks
// that throw or drop their program, threads.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "rlx/backend/webgpu/executor_test_util.h"

namespace rlx::detail::webgpu {
namespace {

using Want = RunRequest::Want;

class ExecutorFailureTest : public ExecutorTest {};
INSTANTIATE_TEST_SUITE_P(Drivers, ExecutorFailureTest, testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExecutorFailureTest);

// y = x[at]; a state s += y where `with_state`.
ImageBuilder picking(bool with_state) {
  ImageBuilder b;
  const Number two = b.constant(2), four = b.constant(4);
  const ValueId x = b.input("x", four, Dim(4)), at = b.input("at", two, Dim(2), DType::i32);
  const ValueId y = b.value(Kind::result, "y", two);
  const int32_t node = b.node("gather", "the node");
  b.step(b.image->run, b.pick(x, at, y, two, four, node), node);
  if (with_state) {
    const ValueId s = b.state("s", 2), next = b.value(Kind::result, "next", two);
    b.image->states[0].next = next;
    b.step(b.image->run, b.sum(s, y, next, two));
    image::Copy copy;
    copy.source.value = next;
    copy.target.value = s;
    b.step(b.image->run, copy);
  }
  b.output("y", y, Dim(2));
  return b;
}

const std::vector<double> kX = {1, 2, 3, 4};
std::vector<Tensor> good() { return {floats(kX), integers({0, 3})}; }
std::vector<Tensor> bad() { return {floats(kX), integers({100, 1})}; }
const std::string kOutOfRange = "gather: index 100 is out of range (the device clamped it)";

TEST_P(ExecutorFailureTest, AFlagEndsTheRunThatRaisedItAndNoOther) {
  const ExecutablePtr program = prepared(picking(false));
  EXPECT_EQ(run(program, good()), (List{1, 4}));
  const auto error = error_of([&] { run(program, bad()); });
  says(error, ErrorKind::invalid_input, kOutOfRange);
  says(error, ErrorKind::invalid_input, "at node 'the node'");
  EXPECT_EQ(run(program, good()), (List{1, 4}));
}

TEST_P(ExecutorFailureTest, AFlagReachesWhoeverReadsATensorThatStayed) {
  const ExecutablePtr program = prepared(picking(false));
  RunRequest request = request_of(bad(), {Want::device});
  program->run(request);
  says(error_of([&] { request.device_outputs[0].read(); }), ErrorKind::invalid_input, kOutOfRange);
  says(error_of([&] { request.device_outputs[0].read(); }), ErrorKind::invalid_input, kOutOfRange);
  EXPECT_EQ(run(program, good()), (List{1, 4})) << "it was told";
  RunRequest fine = request_of(good(), {Want::device});
  program->run(fine);
  EXPECT_EQ(elements(fine.device_outputs[0].read()), (List{1, 4}));
}

TEST_P(ExecutorFailureTest, AFlagOfATensorThatStayedReachesWaitOrTheNextRun) {
  const ExecutablePtr program = prepared(picking(false));
  RunRequest request = request_of(bad(), {Want::device});
  program->run(request);
  says(error_of([&] { program->wait(); }), ErrorKind::invalid_input, kOutOfRange);
  program->wait();
  program->run(request);
  finish_error(*device->gpu());
  says(error_of([&] { run(program, good()); }), ErrorKind::invalid_input, kOutOfRange);
  EXPECT_EQ(run(program, good()), (List{1, 4}));
  // One whose flag was told may not be an input either.
  const ExecutablePtr other = prepared(picking(false));
  RunRequest next = request_of({floats(kX), Tensor()});
  next.inputs[1] = integers({0, 1});
  next.device_inputs = {DeviceTensor(DType::f32, {4}, request.device_outputs[0].memory())};
  says(error_of([&] { other->run(next); }), ErrorKind::invalid_input, kOutOfRange);
}

TEST_P(ExecutorFailureTest, ARefusalOfAnyCallOfARunWhoseOutputStaysEndsIt) {
  const ExecutablePtr program = prepared(picking(false));
  for (int at = 0;; ++at) {
    *fault = {Fault::Kind::refusal, at};
    RunRequest request = request_of(good(), {Want::device});
    const auto error = error_of([&] {
      program->run(request);
      program->wait();
    });
    if (!std::exchange(*fault, {}).struck) break;
    says(error, ErrorKind::device, "the test refuses");
    EXPECT_EQ(run(program, good()), (List{1, 4})) << "after call " << at;
  }
}

TEST_P(ExecutorFailureTest, ManyRunsThatNobodyReadsKeepFewFlags) {
  const ExecutablePtr program = prepared(picking(false));
  RunRequest request = request_of(good(), {Want::nothing});
  program->run(request);
  const uint64_t buffers = program->counters().buffers;
  for (int i = 0; i < 400; ++i) program->run(request);
  EXPECT_LE(program->counters().buffers, buffers + 20);
  program->wait();
}

TEST_P(ExecutorFailureTest, AFlaggedRunInvalidatesTheStatesItWrote) {
  for (const Want want : {Want::tensor, Want::nothing}) {
    const ExecutablePtr program = prepared(picking(true));
    run(program, good());
    EXPECT_EQ(elements(program->read_state("s")), (List{1, 4}));
    program->take_snapshot();
    RunRequest request = request_of(bad(), {want});
    const auto first = error_of([&] {
      program->run(request);
      program->read_state("s");
    });
    says(first, ErrorKind::invalid_input, kOutOfRange);
    says(error_of([&] { program->read_state("s"); }), ErrorKind::invalid_input, "state 's'");
    says(error_of([&] { run(program, good()); }), ErrorKind::invalid_input, "state 's'");
    says(error_of([&] { program->take_snapshot(); }), ErrorKind::invalid_input, "state 's'");
    program->restore_snapshot();
    EXPECT_EQ(elements(program->read_state("s")), (List{1, 4}));
    program->write_state("s", floats({0, 1}));
    EXPECT_EQ(run(program, good()), (List{1, 4}));
    EXPECT_EQ(elements(program->read_state("s")), (List{1, 5}));
  }
}

TEST_P(ExecutorFailureTest, AStateWrittenAfterABadRunIsGood) {
  const ExecutablePtr program = prepared(picking(true));
  RunRequest request = request_of(bad(), {Want::nothing});
  program->run(request);
  program->write_state("s", floats({0, 1}));
  says(error_of([&] { program->wait(); }), ErrorKind::invalid_input, kOutOfRange);
  EXPECT_EQ(run(program, good()), (List{1, 4}));
  EXPECT_EQ(elements(program->read_state("s")), (List{1, 5}));
}

// s += x on the device, then a call that may throw, before or after.
ImageBuilder calling(bool call_first) {
  ImageBuilder b;
  const Number two = b.constant(2);
  const ValueId x = b.input("x", two, Dim(2)), y = b.value(Kind::result, "y", two);
  const ValueId t = b.value(Kind::temporary, "t", two);
  const ValueId s = b.state("s", 2), next = b.value(Kind::result, "next", two);
  b.image->states[0].next = next;
  image::Copy copy;
  copy.source.value = next;
  copy.target.value = s;
  image::Call call;
  call.op = "host";
  image::Operand operand;
  operand.value = t;
  operand.shape = {two};
  call.inputs = {operand};
  call.results = {y};
  b.step(b.image->run, b.scale(x, t, two, 1, 0));
  if (call_first) b.step(b.image->run, call, b.node("host", "h"));
  b.step(b.image->run, b.sum(s, x, next, two));
  b.step(b.image->run, copy);
  if (!call_first) b.step(b.image->run, call, b.node("host", "h"));
  b.output("y", y, Dim(2));
  return b;
}

TEST_P(ExecutorFailureTest, AFailureInvalidatesOnlyStatesThatMayHaveBeenWritten) {
  bool throws = false;
  (*implementations)["host"] = {implementation_of([&](image::CallSite& site) {
    if (throws) throw std::runtime_error("the op's own");
    site.results[0] = site.in(0)->copy();
  })};
  for (const bool call_first : {true, false}) {
    const ExecutablePtr program = prepared(calling(call_first));
    throws = false;
    EXPECT_EQ(run(program, {floats({1, 2})}), (List{1, 2}));
    throws = true;
    says(error_of([&] { run(program, {floats({1, 2})}); }), ErrorKind::unsupported, "the op's own");
    throws = false;
    if (call_first) {
      EXPECT_EQ(elements(program->read_state("s")), (List{1, 2}));
      EXPECT_EQ(run(program, {floats({1, 2})}), (List{1, 2}));
    } else {
      says(error_of([&] {
             run(program, {floats({1, 2})});
           }),
           ErrorKind::invalid_input, "state 's' must be written or reset");
    }
    program->write_state("s", floats({0, 0}));
    EXPECT_EQ(run(program, {floats({1, 2})}), (List{1, 2}));
    EXPECT_EQ(elements(program->read_state("s")), (List{1, 2}));
  }
}

TEST_P(ExecutorFailureTest, ALostDeviceLosesWhatRunsHaveUpdated) {
  const ExecutablePtr program = prepared(picking(true));
  device->gpu()->force_loss("before any run");
  EXPECT_EQ(elements(program->read_state("s")), (List{0, 0})) << "zeros are zeros again";
  program->write_state("s", floats({5, 6}));
  device->gpu()->force_loss("a test");
  EXPECT_EQ(run(program, good()), (List{1, 4})) << "the host has what it wrote";
  EXPECT_EQ(elements(program->read_state("s")), (List{6, 10}));
  RunRequest request = request_of(good(), {Want::device});
  program->run(request);
  device->gpu()->force_loss("a test");
  says(error_of([&] { program->read_state("s"); }), ErrorKind::device_lost, "'s'");
  says(error_of([&] { run(program, good()); }), ErrorKind::device_lost, "state 's'");
  says(error_of([&] { request.device_outputs[0].read(); }), ErrorKind::device_lost, "lost");
  program->write_state("s", floats({1, 1}));
  EXPECT_EQ(run(program, good()), (List{1, 4}));
  EXPECT_EQ(elements(program->read_state("s")), (List{2, 5}));
  RunRequest stale = request_of({Tensor(), integers({0, 1})});
  stale.device_inputs = {DeviceTensor(DType::f32, {4}, request.device_outputs[0].memory())};
  says(error_of([&] { program->run(stale); }), ErrorKind::device_lost, "input 'x'");
}

// Lets call after call fail until a run makes fewer of them.
void strike_everywhere(Fault& fault, Fault::Kind kind, ErrorKind expected,
                       const std::function<ExecutablePtr()>& prepare_it) {
  for (int at = 0; at < 1000; ++at) {
    fault = {kind, at};
    ExecutablePtr program;
    const auto attempt = [&] {
      if (!program) program = prepare_it();
      RunRequest request = request_of({floats({1, 2})});
      program->run(request);
      return elements(request.outputs[0]);
    };
    try {
      EXPECT_EQ(attempt(), (List{1, 2})) << "call " << at;
      EXPECT_EQ(elements(program->read_state("s")), (List{1, 2})) << "call " << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), expected) << "call " << at << ": " << error.what();
    }
    if (!fault.struck) return;
    if (program) program->write_state("s", floats({10, 20}));
    EXPECT_EQ(attempt(), (List{1, 2})) << "after call " << at << " failed";
    const List s = elements(program->read_state("s"));
    EXPECT_TRUE(s == (List{11, 22}) || s == (List{1, 2})) << "after call " << at << " failed";
  }
  ADD_FAILURE() << "a run makes no 1,000 calls";
}

TEST_P(ExecutorFailureTest, AnyCallMayFailAndTheNextRunIsRight) {
  (*implementations)["host"] = {
      implementation_of([](image::CallSite& site) { site.results[0] = site.in(0)->copy(); })};
  ImageBuilder builder = calling(true);
  builder.image->once.push_back({builder.scale(builder.weight("w", floats({1, 2})),
                                               builder.value(Kind::once, "o", builder.constant(2)),
                                               builder.constant(2), 1, 1),
                                 -1});
  const auto make = [&] { return prepared(builder); };
  strike_everywhere(*fault, Fault::Kind::loss, ErrorKind::device_lost, make);
  strike_everywhere(*fault, Fault::Kind::out_of_memory, ErrorKind::out_of_memory, make);
}

// y = 2 x + 1.
ImageBuilder simple() {
  ImageBuilder b;
  const Number n = b.symbol("n", 100);
  const ValueId x = b.input("x", n, Dim("n")), y = b.value(Kind::result, "y", n);
  b.step(b.image->run, b.scale(x, y, n, 2, 1));
  b.output("y", y, Dim("n"));
  return b;
}

TEST_P(ExecutorFailureTest, WhatACallbackThrowsReachesItsOwnProgramAlone) {
  const ExecutablePtr p = prepared(simple()), q = prepared(simple());
  RunRequest request = request_of({floats({1})});
  p->run_async(request, [](const Error*) { throw std::runtime_error("p's callback"); });
  EXPECT_EQ(run(q, {floats({2})}), List{5});
  EXPECT_THROW(p->wait(), std::runtime_error);
  p->wait();
  EXPECT_EQ(run(p, {floats({2})}), List{5});
  p->run_async(request, [](const Error*) { throw 5; });
  EXPECT_THROW(run(p, {floats({2})}), int);
  EXPECT_EQ(run(p, {floats({2})}), List{5});
}

TEST_P(ExecutorFailureTest, ThreadsOfTwoProgramsSeeNothingOfEachOther) {
  const ExecutablePtr p = prepared(simple()), q = prepared(simple());
  std::atomic<bool> stop = false;
  std::atomic<int> foreign = 0, wrong = 0, own = 0;
  std::thread other([&] {
    while (!stop) {
      try {
        wrong += run(q, {floats({2})}) != List{5};
      } catch (...) {
        ++foreign;
      }
    }
  });
  RunRequest request = request_of({floats({1})});
  for (int i = 0; i < 300; ++i) {
    try {
      p->run_async(request, [](const Error*) { throw std::runtime_error("p's callback"); });
      p->wait();
    } catch (const std::runtime_error&) {
      ++own;
    }
  }
  stop = true;
  other.join();
  EXPECT_EQ(foreign, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(own, 300);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(p, {floats({2})}), List{5});
  q->wait();
}

TEST_P(ExecutorFailureTest, ThreadsMayShareAProgramWhileItsDeviceIsLost) {
  const ExecutablePtr program = prepared(simple());
  std::atomic<int> wrong = 0, lost = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        try {
          wrong += run(program, {floats({t + 1.0})}) != List{2.0 * t + 3};
          program->wait();
          program->counters();
        } catch (const Error& error) {
          ++(error.kind() == ErrorKind::device_lost ? lost : wrong);
        }
      }
    });
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device->gpu()->force_loss("while threads run");
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(run(program, {floats({2})}), List{5});
}

TEST_P(ExecutorFailureTest, ThreadsMayPrepareAndRunSideBySide) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) wrong += run(prepared(simple()), {floats({2})}) != List{5};
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ExecutorFailureTest, ACallbackMayStartRunAndDropTheProgram) {
  ExecutablePtr program = prepared(simple());
  int runs = 0;
  RunRequest request = request_of({floats({1})});
  std::function<void(const Error*)> next = [&](const Error* error) {
    EXPECT_FALSE(error);
    if (++runs < 20) program->run_async(request, next);
  };
  program->run_async(request, next);
  program->wait();
  EXPECT_EQ(runs, 20);

  bool ran = false;
  program->run_async(request, [&](const Error*) {
    EXPECT_EQ(run(program, {floats({4})}), List{9});
    ran = true;
  });
  program->wait();
  EXPECT_TRUE(ran);

  program->run_async(request, [&](const Error*) { program = nullptr; });
  if (program) program->wait();
  EXPECT_FALSE(program);
}

TEST_P(ExecutorFailureTest, AnAsynchronousRunUnderWayIsNotDisturbed) {
  const ExecutablePtr program = prepared(simple());
  RunRequest request = request_of({floats({1})}), second = request_of({floats({2})});
  bool done = false;
  program->run_async(request, [&](const Error* error) { done = !error; });
  std::optional<Error> refused;
  program->run_async(second, [&](const Error* error) { refused = *error; });
  says(refused, ErrorKind::unsupported, "a run of this program is under way");
  EXPECT_EQ(run(program, {floats({3})}), List{7}) << "it waits for the other";
  EXPECT_TRUE(done);
  EXPECT_EQ(elements(request.outputs[0]), List{3});
}

TEST_P(ExecutorFailureTest, ADroppedProgramCallsBackAndLeavesNothing) {
  std::weak_ptr<Gpu> gpu;
  int called = 0;
  RunRequest request = request_of({floats({1})});
  {
    const ExecutablePtr program = prepared(simple());
    gpu = device->gpu();
    program->run_async(request, [&](const Error* error) { called += error != nullptr; });
  }
  EXPECT_EQ(called, 1);
  EXPECT_EQ(run(prepared(simple()), {floats({1})}), List{3});
  for (int i = 0; i < 20; ++i)
    prepared(simple())->run_async(request, [&](const Error* error) { called += error != nullptr; });
  EXPECT_EQ(called, 21);
  device = nullptr;
  EXPECT_TRUE(gpu.expired());
}

TEST_P(ExecutorFailureTest, ADeviceDroppedWhileItPreparesCallsBack) {
  int called = 0;
  const ImageBuilder builder = simple();
  device->prepare_async({builder.image, implementations, 0}, [&](Result<ExecutablePtr> made) {
    ++called;
    EXPECT_FALSE(made.ok());
  });
  device = nullptr;
  EXPECT_EQ(called, 1);
}

TEST_P(ExecutorFailureTest, WhatIsThrownWhenAProgramIsReadyReachesTheDevicesWait) {
  bool called = false;
  const ImageBuilder builder = simple();
  device->prepare_async({builder.image, implementations, 0}, [&](const Result<ExecutablePtr>&) {
    called = true;
    throw std::runtime_error("mine");
  });
  EXPECT_THROW(device->wait_until([&] { return called; }), std::runtime_error);
  EXPECT_EQ(run(prepared(builder), {floats({1})}), List{3});
}

}  // namespace
}  // namespace rlx::detail::webgpu
