// Claims about native WebGPU when all goes well, on every driver named in RLX_VULKAN_DRIVERS.
#include <atomic>
#include <thread>

#include "rlx/backend/webgpu/native_test_util.h"

namespace rlx::detail::webgpu {
namespace {

TEST_P(NativeGpuTest, TheAdapterDescribesItself) {
  const AdapterInfo& info = gpu->info();
  RecordProperty("adapter", info.description + " / " + info.driver + " / " + info.vendor);
  EXPECT_TRUE(info.traits.name == "lavapipe" || info.traits.name == "swiftshader")
      << info.traits.name;
  EXPECT_EQ(info.traits.device_class, DeviceClass::software);
  EXPECT_EQ(info.traits.f16, info.traits.name == "lavapipe");
  EXPECT_TRUE(info.traits.subgroups);
  EXPECT_GE(info.traits.subgroup_min, 4);
  EXPECT_GE(info.traits.subgroup_max, info.traits.subgroup_min);
  EXPECT_GE(info.traits.max_storage_buffers, 8);
  EXPECT_EQ(info.traits.max_workgroups, 65535);
  EXPECT_GE(info.traits.max_workgroup_invocations, 256);
  EXPECT_GE(info.traits.max_binding_bytes, int64_t{1} << 27);
  EXPECT_EQ(info.api, "vulkan");
  EXPECT_FALSE(info.flavour.empty());
  EXPECT_FALSE(info.driver.empty());
}

TEST_P(NativeGpuTest, OptionsLowerTheTraits) {
  NativeOptions options = options_for(GetParam());
  options.max_binding_bytes = 4096;
  options.max_buffer_bytes = 8192;
  options.allow_f16 = false;
  options.allow_subgroups = false;
  const auto small = open_gpu(*find_adapter(options));
  EXPECT_FALSE(small->info().traits.f16);
  EXPECT_FALSE(small->info().traits.subgroups);
  says(error_of([&] { small->create_buffer(8193, BufferUse::storage, "big"); }), ErrorKind::limit,
       "8192");
  const BufferPtr buffer = small->create_buffer(8192, BufferUse::storage, "fits");
  const PipelinePtr pipeline = pipeline_of(*small, {"add", kAdd, kAddBindings});
  const BufferRange ranges[] = {whole(buffer), whole(buffer), whole(buffer)};
  says(error_of([&] { small->create_bind_group(*pipeline, ranges, {}); }), ErrorKind::limit,
       "4096");
  const auto subgroups = error_of([&] {
    pipeline_of(*small, {"masked", "enable subgroups;\n" + kAdd, kAddBindings});
  });
  says(subgroups, ErrorKind::device, "subgroups");
}

TEST_P(NativeGpuTest, AVectorAddIsRight) { EXPECT_TRUE(VectorAdd(*gpu, 1000, 0.5f).run()); }

TEST_P(NativeGpuTest, ParamsComeFromTheirDynamicOffset) {
  const BufferPtr x = storage_of(*gpu, {1, 2, 3, 4});
  const PipelinePtr pipeline = pipeline_of(*gpu, {"scale", kScale, {BindingAccess::read_write}, 8});
  const auto stride = static_cast<uint64_t>(gpu->info().traits.uniform_alignment);
  const BufferPtr params = gpu->create_buffer(2 * stride, BufferUse::params, "params");
  const uint32_t count = 4;
  for (uint64_t i = 0; i < 2; ++i) {
    const float factor = i == 0 ? 2.0f : 10.0f;
    gpu->write(*params, i * stride, std::as_bytes(std::span(&factor, 1)));
    gpu->write(*params, i * stride + 4, std::as_bytes(std::span(&count, 1)));
  }
  const BufferRange range = whole(x);
  const BindGroupPtr bindings = gpu->create_bind_group(*pipeline, {&range, 1}, {params, 0, 8});
  Command commands[] = {dispatch_command(pipeline, bindings, 1),
                        dispatch_command(pipeline, bindings, 1)};
  commands[0].has_params = commands[1].has_params = true;
  commands[1].params_offset = static_cast<uint32_t>(stride);
  gpu->submit(commands);
  EXPECT_EQ(values_of(*gpu, x), (std::vector<float>{31, 51, 71, 91}));
}

TEST_P(NativeGpuTest, CopyClearWriteAndReadMoveTheirRanges) {
  const BufferPtr x = storage_of(*gpu, {1, 2, 3, 4}), y = storage_of(*gpu, {0, 0, 0, 0});
  Command move = copy_command(x, y, 8), clear;
  move.source_offset = 8;
  move.target_offset = 4;
  clear.kind = Command::Kind::clear;
  clear.target = x.get();
  clear.target_offset = 4;
  clear.bytes = 4;
  const Command commands[] = {move, clear};
  gpu->submit(commands);
  EXPECT_EQ(values_of(*gpu, x), (std::vector<float>{1, 0, 3, 4}));
  EXPECT_EQ(values_of(*gpu, y), (std::vector<float>{0, 3, 4, 0}));
}

TEST_P(NativeGpuTest, ABufferStartsAsZero) {
  const BufferPtr x = gpu->create_buffer(4096, BufferUse::storage, "fresh");
  EXPECT_EQ(values_of(*gpu, x), std::vector<float>(1024, 0.0f));
}

TEST_P(NativeGpuTest, AnOddNumberOfBytesGoesThereAndBack) {
  const BufferPtr x = gpu->create_buffer(7, BufferUse::storage, "odd");
  const BufferPtr staging = gpu->create_buffer(7, BufferUse::staging, "odd back");
  gpu->write(*x, 0, std::as_bytes(std::span("abcdefg", 7)));
  const Command command = copy_command(x, staging, 7);
  gpu->submit({&command, 1});
  std::string got;
  gpu->wait(gpu->read(*staging, 3, 4, [&](Result<std::span<const std::byte>> r) {
    const auto data = r.take();
    got.assign(reinterpret_cast<const char*>(data.data()), data.size());
  }));
  EXPECT_EQ(got, "defg");
  says(error_of([&] { gpu->write(*x, 4, std::as_bytes(std::span("abcd", 4))); }), ErrorKind::device,
       "cannot write");
}

TEST_P(NativeGpuTest, ObjectsMayOutliveTheirDevice) {
  const BufferPtr buffer = gpu->create_buffer(64, BufferUse::storage, "survivor");
  const PipelinePtr pipeline = pipeline_of(*gpu, {"add", kAdd, kAddBindings});
  gpu.reset();
  adapter.reset();
  EXPECT_EQ(buffer->bytes(), 64u);
}

TEST_P(NativeGpuTest, ACallbackMaySubmitAndReadAgain) {
  VectorAdd add(*gpu);
  add.submit();
  int reads = 0;
  Ticket last = 0;
  const BufferPtr other = gpu->create_buffer(add.sum->bytes(), BufferUse::staging, "other");
  gpu->wait(gpu->read(*add.staging, 0, 4, [&](const Result<std::span<const std::byte>>& r) {
    reads += r.ok();
    const Command command = copy_command(add.sum, other, add.sum->bytes());
    gpu->submit({&command, 1});
    last = gpu->read(*other, 0, 4, [&](const Result<std::span<const std::byte>>& second) {
      reads += second.ok();
    });
  }));
  gpu->wait(last);
  EXPECT_EQ(reads, 2);
}

TEST_P(NativeGpuTest, FourThreadsShareADevice) {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      VectorAdd add(*gpu, 500 + 100 * static_cast<size_t>(t), static_cast<float>(t));
      for (int i = 0; i < 25; ++i) right += add.run();
      const std::string label = "broken " + std::to_string(t);
      const auto error = error_of([&] { pipeline_of(*gpu, {label, "fn", {}}); });
      right += error && std::string(error->what()).find(label) != std::string::npos;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 26);
}

TEST_P(NativeGpuTest, CountersCount) {
  const BufferPtr x = storage_of(*gpu, {1, 2, 3, 4});
  EXPECT_EQ(values_of(*gpu, x).size(), 4u);
  EXPECT_TRUE(error_of([&] { pipeline_of(*gpu, {"broken", "fn", {}}); }));
  const PipelinePtr pipeline = pipeline_of(*gpu, {"scale", kScale, {BindingAccess::read_write}, 8});
  const BufferPtr params = gpu->create_buffer(256, BufferUse::params, "params");
  const BufferRange range = whole(x);
  gpu->create_bind_group(*pipeline, {&range, 1}, {params, 0, 8});
  const Gpu::Counters counters = gpu->counters();
  EXPECT_EQ(counters.buffers, 3u);
  EXPECT_EQ(counters.pipelines, 1u);
  EXPECT_EQ(counters.bind_groups, 1u);
  EXPECT_EQ(counters.submits, 1u);
  EXPECT_EQ(counters.bytes_written, 16u);
  EXPECT_EQ(counters.bytes_read, 16u);
  EXPECT_EQ(counters.bytes_allocated, 16u + 16u + 256u);
}

TEST_P(NativeGpuTest, TimestampsGiveOneTimePerDispatch) {
  if (!gpu->info().traits.timestamps) GTEST_SKIP() << "no timestamps";
  VectorAdd add(*gpu, 640);
  for (const size_t dispatches : {3u, 2100u, 0u}) {  // the second needs more than one query set
    std::vector<Command> commands(dispatches, dispatch_command(add.pipeline, add.bindings, 10));
    commands.push_back(copy_command(add.sum, add.staging, add.sum->bytes()));
    std::optional<SubmitTimes> times;
    gpu->wait(gpu->submit(commands, {.timestamps = true},
                          [&](Result<SubmitTimes> r) { times = r.take(); }));
    ASSERT_TRUE(times);
    ASSERT_EQ(times->dispatch_microseconds.size(), dispatches);
    double total = 0;
    for (const double t : times->dispatch_microseconds) {
      EXPECT_GE(t, 0);
      EXPECT_LT(t, 1e7);
      total += t;
    }
    EXPECT_TRUE(total > 0 || dispatches == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDriver, NativeGpuTest, testing::ValuesIn(drivers()), driver_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NativeGpuTest);

TEST(NativeAdapters, TwoWorkInterleavedInOneProcess) {
  if (drivers().size() < 2) GTEST_SKIP() << "RLX_VULKAN_DRIVERS names fewer than two";
  const auto first = open_gpu(*find_adapter(options_for(drivers()[0])));
  const auto second = open_gpu(*find_adapter(options_for(drivers()[1])));
  EXPECT_NE(first->info().traits.name, second->info().traits.name);
  VectorAdd a(*first, 300, 1), b(*second, 400, 2);
  for (int i = 0; i < 10; ++i) {
    a.submit();
    b.submit();
    EXPECT_EQ(read_floats(*second, b.staging), b.expected);
    EXPECT_EQ(read_floats(*first, a.staging), a.expected);
  }
}

TEST(NativeAdapters, ChoosingADriverLeavesTheEnvironmentAlone) {
  if (drivers().empty()) GTEST_SKIP() << "no RLX_VULKAN_DRIVERS";
  const std::string before = from_environment("VK_DRIVER_FILES");
  find_adapter(options_for(drivers()[0]));
  EXPECT_EQ(from_environment("VK_DRIVER_FILES"), before);
}

}  // namespace
}  // namespace rlx::detail::webgpu
