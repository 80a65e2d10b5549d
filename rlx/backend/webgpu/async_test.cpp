// Nothing but what says so waits: devices are opened, programs prepared and foreign inputs brought
// in callbacks.
#include "rlx/backend/webgpu/executor_test_util.h"

namespace rlx::detail::webgpu {
namespace {

using Want = RunRequest::Want;

// Who was asked to wait, and how many devices were opened.
struct Watch {
  std::atomic<int> waits = 0, opened = 0;
  std::atomic<bool> is_slow = false;  // nothing has arrived where somebody only looks
  std::optional<Error> refuses;       // to open
};

class WatchedGpu : public FaultyGpu {
 public:
  WatchedGpu(std::shared_ptr<Gpu> gpu, std::shared_ptr<Watch> watch)
      : FaultyGpu(std::move(gpu), std::make_shared<Fault>()), watch_(std::move(watch)) {}
  void wait(Ticket ticket) override {
    ++watch_->waits;
    FaultyGpu::wait(ticket);
  }
  void poll() override {
    if (!watch_->is_slow) FaultyGpu::poll();
  }

 private:
  const std::shared_ptr<Watch> watch_;
};

struct WatchedAdapter : Waitable {
  WatchedAdapter(std::shared_ptr<Waitable> adapter, std::shared_ptr<Watch> watching)
      : real(std::move(adapter)), watch(std::move(watching)) {}
  void wait(Ticket ticket) override {
    ++watch->waits;
    real->wait(ticket);
  }
  const std::shared_ptr<Waitable> real;
  const std::shared_ptr<Watch> watch;
};

class AsyncTest : public ExecutorTest {
 protected:
  void SetUp() override {
    ExecutorTest::SetUp();
    if (IsSkipped()) return;
    watched = std::make_shared<WatchedAdapter>(adapter, watch);
    device = another();
  }
  std::shared_ptr<WebGpuDevice> another() {
    const auto open = [from = adapter, by = watched,
                       seen = watch](Done<std::shared_ptr<Gpu>> done) -> Started {
      ++seen->opened;
      if (seen->refuses) throw Error(*seen->refuses);
      return {by, from->request_device([seen, done](Result<std::shared_ptr<Gpu>> opened) {
                if (!opened.ok()) return done(opened.error());
                done(std::shared_ptr<Gpu>(std::make_shared<WatchedGpu>(opened.take(), seen)));
              })};
    };
    return std::make_shared<WebGpuDevice>(adapter->info(), open);
  }
  using Made = std::optional<Result<ExecutablePtr>>;
  void start(const ImageBuilder& builder, Made& made) {
    device->prepare_async({builder.image, implementations, 0},
                          [&](Result<ExecutablePtr> result) { made.emplace(std::move(result)); });
  }

  std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  std::shared_ptr<WatchedAdapter> watched;
};
INSTANTIATE_TEST_SUITE_P(Drivers, AsyncTest, testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AsyncTest);

// y = 2 x + 1
ImageBuilder simple() {
  ImageBuilder b;
  const Number n = b.symbol("n", 8);
  const ValueId x = b.input("x", n, Dim("n")), y = b.value(Kind::result, "y", n);
  b.step(b.image->run, b.scale(x, y, n, 2, 1));
  b.output("y", y, Dim("n"));
  return b;
}

TEST_P(AsyncTest, ProgramsAreMadeReadyWithoutWaitingAndShareTheDevice) {
  const ImageBuilder builder = simple();
  Made a, b;
  start(builder, a);
  start(builder, b);
  EXPECT_FALSE(a || b);
  EXPECT_EQ(watch->waits, 0) << "nobody has waited yet";
  device->wait();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(watch->opened, 1);
  EXPECT_EQ(run(a->take(), {floats({1})}), List{3});
  EXPECT_EQ(run(b->take(), {floats({2})}), List{5});
}

TEST_P(AsyncTest, ALostDeviceIsOpenedAgainWithoutWaiting) {
  const ExecutablePtr program = prepared(simple());
  RunRequest request = request_of({floats({1})});
  program->run(request);
  device->gpu()->force_loss("a test");
  const int waits = watch->waits;
  bool done = false;
  program->run_async(request, [&](const Error* error) { done = error == nullptr; });
  EXPECT_FALSE(done);
  EXPECT_EQ(watch->waits, waits);
  program->wait();
  EXPECT_TRUE(done);
  EXPECT_EQ(elements(request.outputs[0]), List{3});
  EXPECT_EQ(watch->opened, 2);
}

TEST_P(AsyncTest, ADeviceThatCannotBeOpenedIsTriedAgain) {
  watch->refuses = Error(ErrorKind::device, "not today");
  const ImageBuilder builder = simple();
  Made refused, made;
  start(builder, refused);
  ASSERT_TRUE(refused && !refused->ok());
  EXPECT_STREQ(refused->error().what(), "not today");
  watch->refuses.reset();
  start(builder, made);
  device->wait();
  ASSERT_TRUE(made);
  EXPECT_EQ(run(made->take(), {floats({1})}), List{3});
}

TEST_P(AsyncTest, AProgramDroppedWhileItsDeviceOpensLeavesNothing) {
  const ExecutablePtr program = prepared(simple());
  RunRequest request = request_of({floats({1})});
  program->run(request);
  device->gpu()->force_loss("a test");
  int called = 0;
  {
    const ExecutablePtr other = program;
    ExecutablePtr dropped = prepared(simple());
    device->gpu()->force_loss("again");
    dropped->run_async(request, [&](const Error* error) { called += error != nullptr; });
    dropped = nullptr;
  }
  EXPECT_EQ(called, 1);
  device->wait();
  EXPECT_EQ(run(program, {floats({1})}), List{3});
}

TEST_P(AsyncTest, ATensorOfAnotherDeviceIsBroughtWithoutWaiting) {
  const std::shared_ptr<WebGpuDevice> other = another();
  const ImageBuilder builder = simple();
  const ExecutablePtr there = prepare(*other, {builder.image, implementations, 0});
  const ExecutablePtr here = prepared(builder);
  RunRequest first = request_of({floats({1, 2})}, {Want::device});
  there->run(first);
  RunRequest request = request_of({Tensor()});
  request.device_inputs = first.device_outputs;
  const int waits = watch->waits;
  bool done = false;
  here->run_async(request, [&](const Error* error) { done = error == nullptr; });
  EXPECT_FALSE(done);
  EXPECT_EQ(watch->waits, waits);
  std::optional<Error> refused;
  RunRequest second = request_of({floats({1})});
  here->run_async(second, [&](const Error* error) { refused = *error; });
  says(refused, ErrorKind::unsupported, "a run of this program is under way");
  here->wait();
  EXPECT_TRUE(done);
  EXPECT_EQ(elements(request.outputs[0]), (List{7, 11}));

  // Dropped while it is brought: told once.
  int told = 0;
  ExecutablePtr dropped = prepared(builder);
  dropped->run_async(request, [&](const Error* error) { told += error != nullptr; });
  dropped = nullptr;
  device->wait();
  EXPECT_EQ(told, 1);

  other->gpu()->force_loss("a test");
  std::optional<Error> lost;
  here->run_async(request, [&](const Error* error) { lost = *error; });
  here->wait();
  says(lost, ErrorKind::device_lost, "lost");
}

// y = x[at], which may raise a flag.
ImageBuilder picking() {
  ImageBuilder b;
  const Number two = b.constant(2);
  const ValueId x = b.input("x", two, Dim(2)), at = b.input("at", two, Dim(2), DType::i32);
  const ValueId y = b.value(Kind::result, "y", two);
  const int32_t node = b.node("gather", "the node");
  b.step(b.image->run, b.pick(x, at, y, two, two, node), node);
  b.output("y", y, Dim(2));
  return b;
}

TEST_P(AsyncTest, AReadThatIsToComeGivesWhatItsOwnRunWrote) {
  const ExecutablePtr program = prepared(picking());
  watch->is_slow = true;
  const auto kept = [&](double first) {
    RunRequest request = request_of({floats({first, 2}), integers({0, 1})}, {Want::device});
    program->run_async(request, [](const Error* error) { EXPECT_EQ(error, nullptr); });
    return request.device_outputs[0];
  };
  std::optional<Result<Tensor>> read;
  kept(1).read_async([&](Result<Tensor> made) { read.emplace(std::move(made)); });
  ASSERT_FALSE(read);
  kept(5);  // nobody holds the first tensor any more, and it is still to be read
  device->wait();
  ASSERT_TRUE(read);
  EXPECT_EQ(elements(read->take()), (List{1, 2}));
}

}  // namespace
}  // namespace rlx::detail::webgpu
