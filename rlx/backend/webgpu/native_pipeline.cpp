// Gpu over the C API: pipelines, their layouts, bind groups.
#include "rlx/backend/webgpu/native_gpu.h"

namespace rlx::detail::webgpu {

namespace {

// Waits for two answers: the shader compiler's, through an error scope, and the pipeline's.
class PipelineOperation final : public DeviceOperation {
 public:
  PipelineOperation(std::shared_ptr<const Layout> layout, std::shared_ptr<AtomicCounters> counters,
                    std::string label, Done<PipelinePtr> done)
      : DeviceOperation(layout->device),
        layout_(std::move(layout)),
        counters_(std::move(counters)),
        label_(std::move(label)),
        done_(std::move(done)) {}
  ~PipelineOperation() override {
    if (pipeline) device->api().ComputePipelineRelease(pipeline);
  }

  void deliver() override {
    if (device->is_lost()) {
      if (done_) done_(device->lost_error());
      return;
    }
    if (status == capi::kSuccess && pipeline) {
      auto made = std::make_shared<NativePipeline>(layout_, std::exchange(pipeline, nullptr));
      ++counters_->pipelines;
      if (done_) done_(PipelinePtr(std::move(made)));
      return;
    }
    if (!done_) return;
    // The shader's own error says more than the pipeline's, which follows from it.
    const std::string& reason = shader_message.empty() ? message : shader_message;
    done_(to_error(shader_error, text("pipeline '", label_, "': ", reason)));
  }

  uint32_t shader_error = capi::kNoError;
  std::string shader_message;
  capi::ComputePipeline pipeline = nullptr;

 private:
  const std::shared_ptr<const Layout> layout_;
  const std::shared_ptr<AtomicCounters> counters_;
  const std::string label_;
  const Done<PipelinePtr> done_;
};

capi::CallbackInfo<capi::ScopeCallback> shader_answer(void* token) {
  capi::CallbackInfo<capi::ScopeCallback> info;
  info.user1 = token;
  info.callback = [](uint32_t, uint32_t type, capi::StringView message, void* user, void*) {
    Events::arrived<PipelineOperation>(user, [&](PipelineOperation& operation) {
      operation.shader_error = type;
      operation.shader_message = message.str();
    });
  };
  return info;
}

capi::CallbackInfo<capi::PipelineCallback> pipeline_answer(void* token) {
  capi::CallbackInfo<capi::PipelineCallback> info;
  info.user1 = token;
  info.callback = [](uint32_t status, capi::ComputePipeline pipeline, capi::StringView message,
                     void* user, void*) {
    Events::arrived<PipelineOperation>(user, [&](PipelineOperation& operation) {
      operation.status = status;
      operation.pipeline = pipeline;
      operation.message = message.str();
    });
  };
  return info;
}

capi::BindGroupLayoutEntry layout_entry(size_t binding, uint32_t type) {
  capi::BindGroupLayoutEntry entry;
  entry.binding = static_cast<uint32_t>(binding);
  entry.buffer.type = type;
  return entry;
}

void check_range(const BufferRange& range, uint64_t limit, uint64_t alignment, size_t binding) {
  const auto* buffer = static_cast<const NativeBuffer*>(range.buffer.get());
  if (!buffer) fail(ErrorKind::device, "binding ", binding, " has no buffer");
  if (range.bytes > limit) {
    fail(ErrorKind::limit, "binding ", binding, " of ", range.bytes,
         " bytes is beyond the limit of ", limit, " bytes");
  }
  if (range.offset % alignment != 0 || range.bytes == 0 ||
      !buffer->holds(range.offset, range.bytes)) {
    fail(ErrorKind::device, "binding ", binding, ": ", range.bytes, " bytes at ", range.offset,
         " of a buffer of ", buffer->bytes(), " bytes; offsets align to ", alignment);
  }
}

capi::BindGroupEntry group_entry(const BufferRange& range, size_t binding) {
  const auto& buffer = static_cast<const NativeBuffer&>(*range.buffer);
  capi::BindGroupEntry entry;
  entry.binding = static_cast<uint32_t>(binding);
  entry.buffer = buffer.handle;
  entry.offset = range.offset;
  entry.bytes = buffer.whole_words(range.offset, range.bytes);
  return entry;
}

}  // namespace

std::shared_ptr<const Layout> NativeGpu::layout_for(const PipelineSource& source) {
  const auto key = std::pair(source.storage, source.params_bytes);
  {
    const CallLock lock(*this);
    const auto found = layouts_.find(key);
    if (found != layouts_.end()) return found->second;
  }
  std::vector<capi::BindGroupLayoutEntry> entries;
  for (const BindingAccess access : source.storage) {
    const bool read = access == BindingAccess::read;
    entries.push_back(layout_entry(entries.size(), read ? capi::kReadOnlyStorage : capi::kStorage));
  }
  if (source.params_bytes != 0) {
    entries.push_back(layout_entry(entries.size(), capi::kUniform));
    entries.back().buffer.dynamic_offset = 1;
    entries.back().buffer.min_bytes = source.params_bytes;
  }
  auto layout = std::make_shared<Layout>();
  layout->device = device_;
  layout->storage_count = source.storage.size();
  layout->params_bytes = source.params_bytes;
  const auto create = [&] {
    capi::BindGroupLayoutDescriptor group;
    group.entry_count = entries.size();
    group.entries = entries.data();
    layout->group = api_.DeviceCreateBindGroupLayout(device_->device(), &group);
    capi::PipelineLayoutDescriptor pipeline;
    pipeline.group_count = 1;
    pipeline.groups = &layout->group;
    layout->pipeline = api_.DeviceCreatePipelineLayout(device_->device(), &pipeline);
  };
  const std::string what = text("layout of pipeline '", source.label, "'");
  if (const std::optional<Error> error = in_scopes(what, create)) throw *error;
  const CallLock lock(*this);
  return layouts_.emplace(key, std::move(layout)).first->second;  // another thread's may be first
}

Ticket NativeGpu::create_pipeline(const PipelineSource& source, Done<PipelinePtr> done) {
  std::shared_ptr<const Layout> layout;
  try {
    device_->throw_if_lost();
    layout = layout_for(source);
  } catch (const Error& error) {
    return refuse(*events_, std::move(done), error);
  }
  const auto operation =
      std::make_shared<PipelineOperation>(layout, counters_, source.label, std::move(done));
  const Ticket ticket = events_->start(operation, 2);

  capi::ShaderSourceWgsl wgsl;
  wgsl.code = std::string_view(source.wgsl);
  capi::ShaderModuleDescriptor shader;
  shader.next = &wgsl.chain;
  shader.label = std::string_view(source.label);
  capi::ComputePipelineDescriptor descriptor;
  descriptor.label = std::string_view(source.label);
  descriptor.layout = layout->pipeline;
  descriptor.entry_point = std::string_view("main");

  const CallLock lock(*this);
  api_.DevicePushErrorScope(device_->device(), capi::kFilterValidation);
  descriptor.module = api_.DeviceCreateShaderModule(device_->device(), &shader);
  events_->add_future(*operation, api_.DevicePopErrorScope(
                                      device_->device(), shader_answer(events_->token(operation))));
  events_->add_future(
      *operation, api_.DeviceCreateComputePipelineAsync(
                      device_->device(), &descriptor, pipeline_answer(events_->token(operation))));
  api_.ShaderModuleRelease(descriptor.module);
  return ticket;
}

BindGroupPtr NativeGpu::create_bind_group(const Pipeline& pipeline,
                                          std::span<const BufferRange> storage,
                                          const BufferRange& params) {
  device_->throw_if_lost();
  const Layout& layout = *static_cast<const NativePipeline&>(pipeline).layout;
  const DeviceTraits& traits = info().traits;
  if (storage.size() != layout.storage_count) {
    fail(ErrorKind::device, "a bind group of ", storage.size(), " buffers for a pipeline with ",
         layout.storage_count);
  }
  std::vector<capi::BindGroupEntry> entries;
  for (const BufferRange& range : storage) {
    check_range(range, static_cast<uint64_t>(traits.max_binding_bytes),
                static_cast<uint64_t>(traits.storage_alignment), entries.size());
    entries.push_back(group_entry(range, entries.size()));
  }
  if (layout.params_bytes != 0) {
    check_range(params, device_->adapter().limits.uniform_binding_bytes,
                static_cast<uint64_t>(traits.uniform_alignment), entries.size());
    entries.push_back(group_entry(params, entries.size()));
  }
  capi::BindGroupDescriptor descriptor;
  descriptor.layout = layout.group;
  descriptor.entry_count = entries.size();
  descriptor.entries = entries.data();
  BindGroupPtr group;
  const auto create = [&] {
    const capi::BindGroup handle = api_.DeviceCreateBindGroup(device_->device(), &descriptor);
    group = std::make_shared<NativeBindGroup>(device_, handle);
  };
  if (const std::optional<Error> error = in_scopes("bind group", create)) throw *error;
  ++counters_->bind_groups;
  return group;
}

}  // namespace rlx::detail::webgpu
