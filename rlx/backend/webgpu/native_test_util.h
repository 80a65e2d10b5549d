// What the tests of native WebGPU share: drivers from the environment, small kernels, reading back.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "rlx/backend/webgpu/native.h"

namespace rlx::detail::webgpu {

inline std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

inline std::vector<std::string> drivers() {
  std::vector<std::string> result;
  std::istringstream list(from_environment("RLX_VULKAN_DRIVERS"));
  for (std::string driver; std::getline(list, driver, ':');) result.push_back(driver);
  return result;
}

inline NativeOptions options_for(const std::string& driver) {
  NativeOptions options;
  options.libraries = {from_environment("RLX_WEBGPU_LIBRARY")};
  options.vulkan_driver = driver;
  return options;
}

inline const std::string kAdd = R"(
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> sum: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&sum)) { sum[id.x] = a[id.x] + b[id.x]; }
})";
inline const std::vector<BindingAccess> kAddBindings = {BindingAccess::read, BindingAccess::read,
                                                        BindingAccess::read_write};

inline const std::string kScale = R"(
struct Params { factor: f32, count: u32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.count) { x[id.x] = x[id.x] * params.factor + 1.0; }
})";

inline std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

inline PipelinePtr pipeline_of(Gpu& gpu, const PipelineSource& source) {
  std::optional<Result<PipelinePtr>> answer;
  gpu.wait(gpu.create_pipeline(source, [&](Result<PipelinePtr> r) { answer = std::move(r); }));
  return answer->take();
}

inline BufferPtr storage_of(Gpu& gpu, const std::vector<float>& values) {
  BufferPtr buffer = gpu.create_buffer(values.size() * 4, BufferUse::storage, "values");
  gpu.write(*buffer, 0, bytes_of(values));
  return buffer;
}

inline BufferRange whole(const BufferPtr& buffer) { return {buffer, 0, buffer->bytes()}; }

inline Command dispatch_command(const PipelinePtr& pipeline, const BindGroupPtr& bindings,
                                uint32_t workgroups) {
  Command command;
  command.pipeline = pipeline.get();
  command.bindings = bindings.get();
  command.workgroups[0] = workgroups;
  return command;
}

inline Command copy_command(const BufferPtr& source, const BufferPtr& target, uint64_t bytes) {
  Command command;
  command.kind = Command::Kind::copy;
  command.source = source.get();
  command.target = target.get();
  command.bytes = bytes;
  return command;
}

inline std::vector<float> read_floats(Gpu& gpu, const BufferPtr& staging) {
  std::vector<float> values(staging->bytes() / 4);
  std::optional<Error> error;
  gpu.wait(gpu.read(*staging, 0, staging->bytes(), [&](Result<std::span<const std::byte>> r) {
    if (!r.ok()) {
      error = r.error();
      return;
    }
    const auto data = r.take();
    std::memcpy(values.data(), data.data(), data.size());
  }));
  if (error) throw *error;
  return values;
}

inline std::vector<float> values_of(Gpu& gpu, const BufferPtr& buffer) {
  const BufferPtr staging = gpu.create_buffer(buffer->bytes(), BufferUse::staging, "read back");
  const Command command = copy_command(buffer, staging, buffer->bytes());
  gpu.submit({&command, 1});
  return read_floats(gpu, staging);
}

inline std::optional<Error> finish_error(Gpu& gpu) {
  std::optional<Error> error;
  bool called = false;
  gpu.wait(gpu.finish([&](const Result<bool>& r) {
    called = true;
    if (!r.ok()) error = r.error();
  }));
  EXPECT_TRUE(called);
  return error;
}

template <class Action>
std::optional<Error> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline bool says(const std::optional<Error>& error, ErrorKind kind, const std::string& part) {
  EXPECT_TRUE(error) << "no error, where one with '" << part << "' was expected";
  if (!error) return false;
  EXPECT_NE(std::string(error->what()).find(part), std::string::npos) << error->what();
  EXPECT_EQ(error->kind(), kind) << error->what();
  return error->kind() == kind;
}

// All that a sum of two vectors needs; run() checks it.
struct VectorAdd {
  explicit VectorAdd(Gpu& device, size_t count = 1000, float offset = 0) : gpu(device) {
    std::vector<float> a(count), b(count, offset);
    std::iota(a.begin(), a.end(), 1.0f);
    for (size_t i = 0; i < count; ++i) expected.push_back(a[i] + b[i]);
    const BufferPtr left = storage_of(gpu, a), right = storage_of(gpu, b);
    sum = gpu.create_buffer(count * 4, BufferUse::storage, "sum");
    staging = gpu.create_buffer(count * 4, BufferUse::staging, "staging");
    pipeline = pipeline_of(gpu, {"add", kAdd, kAddBindings});
    const BufferRange ranges[] = {whole(left), whole(right), whole(sum)};
    bindings = gpu.create_bind_group(*pipeline, ranges, {});
  }
  void submit() {
    const auto workgroups = static_cast<uint32_t>((expected.size() + 63) / 64);
    const Command commands[] = {dispatch_command(pipeline, bindings, workgroups),
                                copy_command(sum, staging, sum->bytes())};
    gpu.submit(commands);
  }
  bool run() {
    submit();
    return read_floats(gpu, staging) == expected;
  }
  Gpu& gpu;
  std::vector<float> expected;
  BufferPtr sum, staging;
  PipelinePtr pipeline;
  BindGroupPtr bindings;
};

class NativeGpuTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (from_environment("RLX_WEBGPU_LIBRARY").empty()) GTEST_SKIP() << "no RLX_WEBGPU_LIBRARY";
    adapter = find_adapter(options_for(GetParam()));
    gpu = open_gpu(*adapter);
  }
  std::shared_ptr<Adapter> adapter;
  std::shared_ptr<Gpu> gpu;
};

inline std::string driver_name(const testing::TestParamInfo<std::string>& info) {
  return "Driver" + std::to_string(info.index);
}

}  // namespace rlx::detail::webgpu
