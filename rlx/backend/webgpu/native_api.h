// Our binding of the WebGPU C API: the compute subset, as Dawn's builds of 2025 and 2026 lay it
// out. No published header matches both, so the layouts are ours and their sizes are asserted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rlx::detail::webgpu::capi {

using Instance = struct InstanceImpl*;
using Adapter = struct AdapterImpl*;
using Device = struct DeviceImpl*;
using Queue = struct QueueImpl*;
using Buffer = struct BufferImpl*;
using ShaderModule = struct ShaderModuleImpl*;
using ComputePipeline = struct ComputePipelineImpl*;
using BindGroup = struct BindGroupImpl*;
using BindGroupLayout = struct BindGroupLayoutImpl*;
using PipelineLayout = struct PipelineLayoutImpl*;
using CommandEncoder = struct CommandEncoderImpl*;
using CommandBuffer = struct CommandBufferImpl*;
using ComputePass = struct ComputePassImpl*;
using QuerySet = struct QuerySetImpl*;

using Bool = uint32_t;
using Flags = uint64_t;

constexpr uint32_t kSuccess = 1;  // of every status below
constexpr uint64_t kForever = UINT64_MAX;

enum CallbackMode : uint32_t { kWaitAnyOnly = 1, kAllowSpontaneous = 3 };
enum ErrorFilter : uint32_t { kFilterValidation = 1, kFilterOutOfMemory = 2 };
enum ErrorType : uint32_t { kNoError = 1, kValidationError = 2, kOutOfMemoryError = 3 };
enum BackendType : uint32_t { kNull = 1, kD3d12 = 4, kMetal = 5, kVulkan = 6 };
enum AdapterType : uint32_t { kDiscreteGpu = 1, kIntegratedGpu = 2, kCpu = 3 };
enum PowerPreference : uint32_t { kAnyPower = 0, kLowPower = 1, kHighPower = 2 };
enum BindingType : uint32_t { kUniform = 2, kStorage = 3, kReadOnlyStorage = 4 };
enum StructType : uint32_t { kShaderSourceWgsl = 2, kDawnToggles = 0x5000A };

constexpr uint32_t kFeatureLevelCore = 2;
constexpr uint32_t kQueryTimestamp = 2;
constexpr uint32_t kLostUnknown = 1;
constexpr Flags kStageCompute = 4;
constexpr Flags kMapRead = 0x1;
constexpr Flags kUseMapRead = 0x1, kUseCopySource = 0x4, kUseCopyTarget = 0x8, kUseUniform = 0x40,
                kUseStorage = 0x80, kUseQueryResolve = 0x200;

struct Chained {
  const Chained* next = nullptr;
  uint32_t type = 0;
};
struct StringView {
  const char* data = nullptr;
  size_t length = 0;
  StringView() = default;
  StringView(std::string_view s) : data(s.data()), length(s.size()) {}  // NOLINT
  std::string str() const { return data ? std::string(data, length) : std::string(); }
};
struct Future {
  uint64_t id = 0;
};
struct FutureWait {
  Future future;
  Bool completed = 0;
};

// Spontaneous callbacks may come from Dawn's own threads, and there they take the device's lock: a
// loss, which holds it while it waits for those threads, then never ends. So callbacks come in
// waits.
template <class Callback>
struct CallbackInfo {
  const Chained* next = nullptr;
  uint32_t mode = kWaitAnyOnly;
  Callback callback = nullptr;
  void* user1 = nullptr;
  void* user2 = nullptr;
};
using AdapterCallback = void (*)(uint32_t status, Adapter, StringView, void*, void*);
using DeviceCallback = void (*)(uint32_t status, Device, StringView, void*, void*);
using PipelineCallback = void (*)(uint32_t status, ComputePipeline, StringView, void*, void*);
using MapCallback = void (*)(uint32_t status, StringView, void*, void*);
using WorkDoneCallback = void (*)(uint32_t status, StringView, void*, void*);
using ScopeCallback = void (*)(uint32_t status, uint32_t type, StringView, void*, void*);
using LostCallback = void (*)(const Device*, uint32_t reason, StringView, void*, void*);
using ErrorCallback = void (*)(const Device*, uint32_t type, StringView, void*, void*);
struct ErrorCallbackInfo {  // the one without a mode
  const Chained* next = nullptr;
  ErrorCallback callback = nullptr;
  void* user1 = nullptr;
  void* user2 = nullptr;
};

// The one struct whose meaning differs between the flavours.
struct InstanceDescriptor2025 {
  const Chained* next = nullptr;
  const Chained* capabilities_next = nullptr;
  Bool timed_wait_any = 0;
  size_t timed_wait_any_max_count = 0;
};
struct InstanceDescriptor2026 {
  const Chained* next = nullptr;
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const void* limits = nullptr;
};
struct RequestAdapterOptions {
  const Chained* next = nullptr;
  uint32_t feature_level = kFeatureLevelCore;
  uint32_t power = kAnyPower;
  Bool force_fallback = 0;
  uint32_t backend = 0;
  const void* surface = nullptr;
};
struct Limits {
  const Chained* next = nullptr;
  uint32_t texture_sizes[4] = {};
  uint32_t bind_groups = 0, bind_groups_plus_vertex_buffers = 0, bindings_per_group = 0;
  uint32_t dynamic_uniform_buffers = 0, dynamic_storage_buffers = 0;
  uint32_t sampled_textures = 0, samplers = 0;
  uint32_t storage_buffers_per_stage = 0, storage_textures = 0, uniform_buffers_per_stage = 0;
  uint64_t uniform_binding_bytes = 0, storage_binding_bytes = 0;
  uint32_t uniform_alignment = 0, storage_alignment = 0;
  uint32_t vertex_buffers = 0;
  uint64_t buffer_bytes = 0;
  uint32_t vertex_attributes = 0, vertex_stride = 0, inter_stage_variables = 0;
  uint32_t color_attachments = 0, color_attachment_bytes = 0;
  uint32_t workgroup_bytes = 0, workgroup_invocations = 0, workgroup_size[3] = {};
  uint32_t workgroups_per_dimension = 0, immediate_bytes = 0;
};
struct AdapterInfo {
  const Chained* next = nullptr;
  StringView vendor, architecture, device, description;
  uint32_t backend = 0, type = 0, vendor_id = 0, device_id = 0;
  uint32_t subgroup_min = 0, subgroup_max = 0;
};
struct Labelled {  // queue, command encoder and command buffer descriptors
  const Chained* next = nullptr;
  StringView label;
};
struct DeviceDescriptor {
  const Chained* next = nullptr;
  StringView label;
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const Limits* limits = nullptr;
  Labelled queue;
  CallbackInfo<LostCallback> lost;
  ErrorCallbackInfo error;
};
struct DawnToggles {
  Chained chain{nullptr, kDawnToggles};
  size_t enabled_count = 0;
  const char* const* enabled = nullptr;
  size_t disabled_count = 0;
  const char* const* disabled = nullptr;
};
struct BufferDescriptor {
  const Chained* next = nullptr;
  StringView label;
  Flags usage = 0;
  uint64_t bytes = 0;
  Bool mapped = 0;
};
struct ShaderSourceWgsl {
  Chained chain{nullptr, kShaderSourceWgsl};
  StringView code;
};
struct ShaderModuleDescriptor {
  const Chained* next = nullptr;
  StringView label;
};
struct ComputePipelineDescriptor {
  const Chained* next = nullptr;
  StringView label;
  PipelineLayout layout = nullptr;
  const Chained* stage_next = nullptr;
  ShaderModule module = nullptr;
  StringView entry_point;
  size_t constant_count = 0;
  const void* constants = nullptr;
};
struct BufferBindingLayout {
  const Chained* next = nullptr;
  uint32_t type = 0;
  Bool dynamic_offset = 0;
  uint64_t min_bytes = 0;
};
struct BindGroupLayoutEntry {
  const Chained* next = nullptr;
  uint32_t binding = 0;
  Flags visibility = kStageCompute;
  uint32_t array_size = 0;
  BufferBindingLayout buffer;
  struct {
    const Chained* next = nullptr;
    uint32_t type = 0;
  } sampler;
  struct {
    const Chained* next = nullptr;
    uint32_t type = 0, dimension = 0, multisampled = 0;
  } texture;
  struct {
    const Chained* next = nullptr;
    uint32_t access = 0, format = 0, dimension = 0;
  } storage_texture;
};
struct BindGroupLayoutDescriptor {
  const Chained* next = nullptr;
  StringView label;
  size_t entry_count = 0;
  const BindGroupLayoutEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  const Chained* next = nullptr;
  StringView label;
  size_t group_count = 0;
  const BindGroupLayout* groups = nullptr;
  uint32_t immediate_bytes = 0;
};
struct BindGroupEntry {
  const Chained* next = nullptr;
  uint32_t binding = 0;
  Buffer buffer = nullptr;
  uint64_t offset = 0, bytes = 0;
  const void* sampler = nullptr;
  const void* texture = nullptr;
};
struct BindGroupDescriptor {
  const Chained* next = nullptr;
  StringView label;
  BindGroupLayout layout = nullptr;
  size_t entry_count = 0;
  const BindGroupEntry* entries = nullptr;
};
struct TimestampWrites {
  const Chained* next = nullptr;
  QuerySet queries = nullptr;
  uint32_t begin = 0, end = 0;
};
struct ComputePassDescriptor {
  const Chained* next = nullptr;
  StringView label;
  const TimestampWrites* timestamps = nullptr;
};
struct QuerySetDescriptor {
  const Chained* next = nullptr;
  StringView label;
  uint32_t type = kQueryTimestamp;
  uint32_t count = 0;
};

static_assert(sizeof(void*) == 8, "the layouts below are those of 64-bit builds");
static_assert(sizeof(StringView) == 16 && sizeof(FutureWait) == 16 && sizeof(Labelled) == 24);
static_assert(sizeof(CallbackInfo<MapCallback>) == 40 && sizeof(ErrorCallbackInfo) == 32);
static_assert(sizeof(InstanceDescriptor2025) == 32 && sizeof(InstanceDescriptor2026) == 32);
static_assert(sizeof(RequestAdapterOptions) == 32 && sizeof(Limits) == 152);
static_assert(sizeof(AdapterInfo) == 96 && sizeof(DeviceDescriptor) == 144);
static_assert(sizeof(DawnToggles) == 48 && sizeof(BufferDescriptor) == 48);
static_assert(sizeof(ShaderSourceWgsl) == 32 && sizeof(ComputePipelineDescriptor) == 80);
static_assert(sizeof(BindGroupLayoutEntry) == 120 && sizeof(BindGroupLayoutDescriptor) == 40);
static_assert(sizeof(PipelineLayoutDescriptor) == 48 && sizeof(BindGroupEntry) == 56);
static_assert(sizeof(BindGroupDescriptor) == 48 && sizeof(ComputePassDescriptor) == 32);
static_assert(sizeof(TimestampWrites) == 24 && sizeof(QuerySetDescriptor) == 32);

#define RLX_WEBGPU_FUNCTIONS(X)                                                                  \
  X(Instance, CreateInstance, (const void*))                                                     \
  X(void, InstanceRelease, (Instance))                                                           \
  X(uint32_t, InstanceWaitAny, (Instance, size_t, FutureWait*, uint64_t))                        \
  X(Future, InstanceRequestAdapter,                                                              \
    (Instance, const RequestAdapterOptions*, CallbackInfo<AdapterCallback>))                     \
  X(Future, AdapterRequestDevice,                                                                \
    (Adapter, const DeviceDescriptor*, CallbackInfo<DeviceCallback>))                            \
  X(uint32_t, AdapterGetInfo, (Adapter, AdapterInfo*))                                           \
  X(uint32_t, AdapterGetLimits, (Adapter, Limits*))                                              \
  X(Bool, AdapterHasFeature, (Adapter, uint32_t))                                                \
  X(void, AdapterInfoFreeMembers, (AdapterInfo))                                                 \
  X(void, AdapterRelease, (Adapter))                                                             \
  X(Queue, DeviceGetQueue, (Device))                                                             \
  X(Future, DeviceGetLostFuture, (Device))                                                       \
  X(void, DeviceRelease, (Device))                                                               \
  X(void, DeviceDestroy, (Device))                                                               \
  X(void, DeviceForceLoss, (Device, uint32_t, StringView))                                       \
  X(void, DevicePushErrorScope, (Device, uint32_t))                                              \
  X(Future, DevicePopErrorScope, (Device, CallbackInfo<ScopeCallback>))                          \
  X(Buffer, DeviceCreateBuffer, (Device, const BufferDescriptor*))                               \
  X(ShaderModule, DeviceCreateShaderModule, (Device, const ShaderModuleDescriptor*))             \
  X(Future, DeviceCreateComputePipelineAsync,                                                    \
    (Device, const ComputePipelineDescriptor*, CallbackInfo<PipelineCallback>))                  \
  X(BindGroupLayout, DeviceCreateBindGroupLayout, (Device, const BindGroupLayoutDescriptor*))    \
  X(PipelineLayout, DeviceCreatePipelineLayout, (Device, const PipelineLayoutDescriptor*))       \
  X(BindGroup, DeviceCreateBindGroup, (Device, const BindGroupDescriptor*))                      \
  X(CommandEncoder, DeviceCreateCommandEncoder, (Device, const Labelled*))                       \
  X(QuerySet, DeviceCreateQuerySet, (Device, const QuerySetDescriptor*))                         \
  X(void, ShaderModuleRelease, (ShaderModule))                                                   \
  X(void, ComputePipelineRelease, (ComputePipeline))                                             \
  X(void, BindGroupLayoutRelease, (BindGroupLayout))                                             \
  X(void, PipelineLayoutRelease, (PipelineLayout))                                               \
  X(void, BindGroupRelease, (BindGroup))                                                         \
  X(void, QuerySetRelease, (QuerySet))                                                           \
  X(ComputePass, CommandEncoderBeginComputePass, (CommandEncoder, const ComputePassDescriptor*)) \
  X(void, CommandEncoderCopyBufferToBuffer,                                                      \
    (CommandEncoder, Buffer, uint64_t, Buffer, uint64_t, uint64_t))                              \
  X(void, CommandEncoderClearBuffer, (CommandEncoder, Buffer, uint64_t, uint64_t))               \
  X(void, CommandEncoderResolveQuerySet,                                                         \
    (CommandEncoder, QuerySet, uint32_t, uint32_t, Buffer, uint64_t))                            \
  X(CommandBuffer, CommandEncoderFinish, (CommandEncoder, const Labelled*))                      \
  X(void, CommandEncoderRelease, (CommandEncoder))                                               \
  X(void, CommandBufferRelease, (CommandBuffer))                                                 \
  X(void, ComputePassEncoderSetPipeline, (ComputePass, ComputePipeline))                         \
  X(void, ComputePassEncoderSetBindGroup,                                                        \
    (ComputePass, uint32_t, BindGroup, size_t, const uint32_t*))                                 \
  X(void, ComputePassEncoderDispatchWorkgroups, (ComputePass, uint32_t, uint32_t, uint32_t))     \
  X(void, ComputePassEncoderEnd, (ComputePass))                                                  \
  X(void, ComputePassEncoderRelease, (ComputePass))                                              \
  X(void, QueueSubmit, (Queue, size_t, const CommandBuffer*))                                    \
  X(void, QueueWriteBuffer, (Queue, Buffer, uint64_t, const void*, size_t))                      \
  X(Future, QueueOnSubmittedWorkDone, (Queue, CallbackInfo<WorkDoneCallback>))                   \
  X(void, QueueRelease, (Queue))                                                                 \
  X(Future, BufferMapAsync, (Buffer, Flags, size_t, size_t, CallbackInfo<MapCallback>))          \
  X(const void*, BufferGetConstMappedRange, (Buffer, size_t, size_t))                            \
  X(void, BufferUnmap, (Buffer))                                                                 \
  X(void, BufferRelease, (Buffer))

// The numbers that differ between builds; never mix them.
struct Flavour {
  const char* name;
  const char* symbol;  // exported by this build and not by the other
  uint32_t core, timestamp_query, shader_f16, subgroups, implicit_synchronization;
};

// A loaded library. It stays loaded for the life of the process: Dawn keeps threads of its own.
struct Api {
#define RLX_WEBGPU_MEMBER(result, name, arguments) result(*name) arguments = nullptr;
  RLX_WEBGPU_FUNCTIONS(RLX_WEBGPU_MEMBER)
#undef RLX_WEBGPU_MEMBER
  const Flavour* flavour = nullptr;
  std::string path;

  Instance create_instance() const;  // with timed waits
  // True when the future is complete; its callback has then run or is running.
  bool wait(Instance instance, Future future, uint64_t nanoseconds) const;
};

// Throws Error(device) with the reason: not found, not WebGPU, or a build we do not know.
std::shared_ptr<const Api> load_api(const std::string& path);

}  // namespace rlx::detail::webgpu::capi
