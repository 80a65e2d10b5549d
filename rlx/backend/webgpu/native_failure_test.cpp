// Claims about native WebGPU when things go wrong, on every driver named in RLX_VULKAN_DRIVERS.
#include <atomic>
#include <chrono>
#include <thread>

#include "rlx/backend/webgpu/native_test_util.h"

namespace rlx::detail::webgpu {
namespace {

class NativeGpuFailureTest : public NativeGpuTest {};

TEST_P(NativeGpuFailureTest, AShaderErrorNamesLabelLineAndColumn) {
  const PipelineSource source{
      "broken kernel", "\n@compute @workgroup_size(1) fn main() { let x = ; }", {}};
  const auto error = error_of([&] { pipeline_of(*gpu, source); });
  if (says(error, ErrorKind::device, "broken kernel")) says(error, ErrorKind::device, "2:");
  EXPECT_FALSE(finish_error(*gpu)) << "the error belongs to its pipeline alone";
  EXPECT_TRUE(VectorAdd(*gpu).run());
}

TEST_P(NativeGpuFailureTest, APipelineThatDoesNotFitItsLayoutIsAnError) {
  const auto error = error_of([&] { pipeline_of(*gpu, {"misfit", kAdd, {BindingAccess::read}}); });
  says(error, ErrorKind::device, "misfit");
  const std::vector<BindingAccess> many(100, BindingAccess::read);
  says(error_of([&] { pipeline_of(*gpu, {"crowded", kAdd, many}); }), ErrorKind::device, "crowded");
  EXPECT_FALSE(finish_error(*gpu));
}

TEST_P(NativeGpuFailureTest, ABufferBeyondTheLimitIsAnErrorAndTheDeviceLives) {
  const auto limit = static_cast<uint64_t>(gpu->info().traits.max_buffer_bytes);
  const auto error =
      error_of([&] { gpu->create_buffer(limit + 4, BufferUse::storage, "too big"); });
  if (says(error, ErrorKind::limit, "too big")) {
    says(error, ErrorKind::limit, std::to_string(limit));
  }
  EXPECT_FALSE(gpu->lost());
  EXPECT_TRUE(VectorAdd(*gpu).run());
}

TEST_P(NativeGpuFailureTest, RunningOutOfMemoryIsAnErrorAndTheDeviceLives) {
  const auto limit = static_cast<uint64_t>(gpu->info().traits.max_buffer_bytes);
  std::vector<BufferPtr> hoard;
  std::optional<Error> error;
  for (int i = 0; i < 8 && !error; ++i) {
    error = error_of(
        [&] { hoard.push_back(gpu->create_buffer(limit / 4 * 4, BufferUse::storage, "hoard")); });
  }
  hoard.clear();
  if (error) says(error, ErrorKind::out_of_memory, "hoard");  // some drivers overcommit for ever
  RecordProperty("out_of_memory", error ? error->what() : "never");
  EXPECT_FALSE(gpu->lost());
  EXPECT_TRUE(VectorAdd(*gpu).run());
}

TEST_P(NativeGpuFailureTest, ALossReachesWhatIsPendingAndEveryLaterCall) {
  VectorAdd add(*gpu);
  add.submit();
  std::optional<Error> pending;
  const Ticket ticket =
      gpu->read(*add.staging, 0, 8, [&](const Result<std::span<const std::byte>>& r) {
        if (!r.ok()) pending = r.error();
      });
  gpu->force_loss("a test pulled the plug");
  gpu->wait(ticket);
  says(pending, ErrorKind::device_lost, "a test pulled the plug");
  ASSERT_TRUE(gpu->lost());
  const std::string lost = "lost";
  says(finish_error(*gpu), ErrorKind::device_lost, lost);
  says(error_of([&] { add.submit(); }), ErrorKind::device_lost, lost);
  says(error_of([&] { read_floats(*gpu, add.staging); }), ErrorKind::device_lost, lost);
  says(error_of([&] { gpu->create_buffer(4, BufferUse::storage, "x"); }), ErrorKind::device_lost,
       lost);
  says(error_of([&] { gpu->write(*add.sum, 0, bytes_of({1})); }), ErrorKind::device_lost, lost);
  says(error_of([&] {
         pipeline_of(*gpu, {"add", kAdd, kAddBindings});
       }),
       ErrorKind::device_lost, lost);
  says(error_of([&] { gpu->create_bind_group(*add.pipeline, {}, {}); }), ErrorKind::device_lost,
       lost);
  const auto again = open_gpu(*adapter);
  EXPECT_TRUE(VectorAdd(*again).run());
}

TEST_P(NativeGpuFailureTest, ALossReachesPipelinesAndWorkUnderWay) {
  int lost = 0;
  std::vector<Ticket> tickets;
  for (int i = 0; i < 4; ++i) {
    const std::string wgsl = kAdd + "\n// variant " + std::to_string(i);
    tickets.push_back(
        gpu->create_pipeline({"add", wgsl, kAddBindings}, [&](const Result<PipelinePtr>& r) {
          lost += !r.ok() && r.error().kind() == ErrorKind::device_lost;
        }));
  }
  tickets.push_back(gpu->finish([&](const Result<bool>& r) {
    lost += !r.ok() && r.error().kind() == ErrorKind::device_lost;
  }));
  gpu->force_loss("in the middle");
  for (const Ticket ticket : tickets) gpu->wait(ticket);
  EXPECT_EQ(lost, 5);
}

TEST_P(NativeGpuFailureTest, ALossEndsEveryThreadsWait) {
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto error = error_of([&] {
        VectorAdd add(*gpu);
        for (;;) add.run();
      });
      lost += error && error->kind() == ErrorKind::device_lost;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gpu->force_loss("while four threads work");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 4);
}

TEST_P(NativeGpuFailureTest, ClosingADeviceAnswersWhatIsPending) {
  VectorAdd add(*gpu);
  add.submit();
  std::optional<Error> error;
  gpu->read(*add.staging, 0, 8,
            [&](const Result<std::span<const std::byte>>& r) { error = r.error(); });
  gpu.reset();
  says(error, ErrorKind::device_lost, "closed");
}

TEST_P(NativeGpuFailureTest, ABufferIsReadByOneAtATime) {
  VectorAdd add(*gpu);
  add.submit();
  const Ticket first = gpu->read(*add.staging, 0, 4, nullptr);
  says(error_of([&] { read_floats(*gpu, add.staging); }), ErrorKind::device, "being read");
  gpu->wait(first);
  EXPECT_EQ(read_floats(*gpu, add.staging), add.expected);
}

TEST_P(NativeGpuFailureTest, AnInvalidSubmitSurfacesOnceInFinish) {
  VectorAdd add(*gpu);
  const Command command = dispatch_command(add.pipeline, add.bindings, 70000);
  gpu->wait(gpu->submit({&command, 1}));
  says(finish_error(*gpu), ErrorKind::device, "70000");
  EXPECT_FALSE(finish_error(*gpu));
  EXPECT_TRUE(add.run());
}

INSTANTIATE_TEST_SUITE_P(EveryDriver, NativeGpuFailureTest, testing::ValuesIn(drivers()),
                         driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NativeGpuFailureTest);

TEST(NativeAdapters, AMissingLibraryIsNamed) {
  NativeOptions options;
  says(error_of([&] { find_adapter(options); }), ErrorKind::device, "no WebGPU library");
  options.libraries = {"libsurely_not_there.so", "/nowhere/libwebgpu.so"};
  const auto error = error_of([&] { find_adapter(options); });
  says(error, ErrorKind::device, "libsurely_not_there.so");
  says(error, ErrorKind::device, "/nowhere/libwebgpu.so");
}

TEST(NativeAdapters, ALibraryThatIsNotWebGpuIsRefused) {
  NativeOptions options;
  options.libraries = {"libm.so.6"};
  says(error_of([&] { find_adapter(options); }), ErrorKind::device, "libm.so.6 is not");
}

TEST(NativeAdapters, AMissingDriverIsNamed) {
  if (from_environment("RLX_WEBGPU_LIBRARY").empty()) GTEST_SKIP() << "no RLX_WEBGPU_LIBRARY";
  says(error_of([&] { find_adapter(options_for("/nowhere/icd.json")); }), ErrorKind::device,
       "/nowhere/icd.json");
  // One that exists and is no driver: the loader finds nothing in it.
  says(error_of([&] { find_adapter(options_for("/dev/null")); }), ErrorKind::device, "/dev/null");
  NativeOptions unknown = options_for("");
  unknown.backend = "glide";
  says(error_of([&] { find_adapter(unknown); }), ErrorKind::device, "glide");
}

}  // namespace
}  // namespace rlx::detail::webgpu
