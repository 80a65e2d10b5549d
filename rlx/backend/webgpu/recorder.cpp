#include "rlx/backend/webgpu/recorder.h"

#include <algorithm>

#include "rlx/lower/storage.h"

namespace rlx::webgpu {
namespace {

void render_all(const Steps& steps, const DeviceTraits& traits,
                std::map<const Dispatch*, KernelSlot>& kernels) {
  for (const Step& step : steps.list) {
    if (const auto* dispatch = std::get_if<Dispatch>(&step.what)) {
      kernels[dispatch].rendered = render(*dispatch, traits);
    } else if (const auto* branch = std::get_if<If>(&step.what)) {
      render_all(branch->then, traits, kernels);
      render_all(branch->otherwise, traits, kernels);
    } else if (const auto* loop = std::get_if<Loop>(&step.what)) {
      render_all(loop->body, traits, kernels);
    }
  }
}

uint64_t aligned(uint64_t bytes, int64_t alignment) {
  const auto to = static_cast<uint64_t>(alignment);
  return (bytes + to - 1) / to * to;
}

}  // namespace

Recorder::Recorder(const Compiled& compiled, const DeviceTraits& traits)
    : compiled_(compiled), lowered_(compiled.lowered), traits_(traits) {
  render_all(lowered_.steps, traits, kernels_);
}

void Recorder::use(Resources& resources, const MemoryPlan& plan, SymbolValues& symbols) {
  resources_ = &resources;
  plan_ = &plan;
  symbols_ = &symbols;
}

int64_t Recorder::bytes_now(ValueId value) const {
  const TensorType& type = lowered_.values[size_t(value)].type;
  return bytes_of(type.dtype, count(type.shape), traits_).value(*symbols_);
}

// The bytes a binding of the whole value has: its bound, so that bind groups outlast extents.
int64_t Recorder::capacity(ValueId value) const {
  const int64_t planned = plan_->bytes_of[size_t(value)];
  return std::max<int64_t>(planned < 0 ? bytes_now(value) : planned, 4);
}

void Recorder::make_room(ValueId value) {
  if (plan_->bytes_of[size_t(value)] < 0) resources_->fit_late(value, bytes_now(value));
}

BufferRange Recorder::range_of(const Operand& operand, const Dispatch& dispatch) const {
  const BufferPtr& buffer = resources_->buffer(operand.value);
  const auto held = static_cast<int64_t>(buffer->bytes());
  int64_t offset = 0, bytes = static_cast<int64_t>(whole_words(capacity(operand.value)));
  if (operand.window) {
    const Operand::Window window = aligned_window(operand, traits_);
    const int64_t element = device_storage(operand.dtype, traits_).bytes;
    offset = window.first.value(*symbols_) * element;
    // A window from the start is bound as far as the value may reach: its bind group then lasts.
    if (offset > 0 || bytes > traits_.max_binding_bytes)
      bytes = static_cast<int64_t>(
          whole_words(std::max<int64_t>(window.count.value(*symbols_) * element, 4)));
  }
  bytes = std::min(bytes, held - offset);
  if (bytes > traits_.max_binding_bytes)
    fail(ErrorKind::limit, dispatch.kernel.name, ": '", lowered_.values[size_t(operand.value)].name,
         "' is ", lowered_.values[size_t(operand.value)].type, " of ", bytes,
         " bytes; this device binds at most ", traits_.max_binding_bytes);
  return {buffer, static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes)};
}

// More workgroups than one dimension takes are laid out in two.
void Recorder::fold(int64_t workgroups, Command& command, const Dispatch& dispatch) const {
  const int64_t most = traits_.max_workgroups;
  const int64_t rows = (workgroups + most - 1) / most;
  if (rows > most)
    fail(ErrorKind::limit, dispatch.kernel.name, ": needs ", workgroups,
         " workgroups; this device runs at most ", most, " squared");
  command.workgroups[0] = static_cast<uint32_t>((workgroups + rows - 1) / rows);
  command.workgroups[1] = static_cast<uint32_t>(rows);
}

void Recorder::dispatch(const Dispatch& dispatch, int node, RunReport* report) {
  bool writes = false;
  for (const Operand& operand : dispatch.operands) {
    if (operand.access == Access::read) continue;
    make_room(operand.value);
    writes |= bytes_now(operand.value) > 0;
  }
  if (!writes) return;  // an empty result costs nothing
  const KernelSlot& slot = kernels_.at(&dispatch);
  const int64_t repeat = dispatch.repeat.value(*symbols_);
  for (int64_t i = 0; i < repeat; ++i) {
    (*symbols_)[kShard] = i;
    shard(dispatch, slot, node, report);
  }
}

void Recorder::shard(const Dispatch& dispatch, const KernelSlot& slot, int node,
                     RunReport* report) {
  const int64_t workgroups = dispatch.workgroups.value(*symbols_);
  if (workgroups <= 0) return;
  Command command;
  command.pipeline = slot.pipeline.get();
  fold(workgroups, command, dispatch);
  Record record;
  record.dispatch = &dispatch;
  record.pipeline = slot.pipeline.get();
  record.params_offset = params_.size();
  record.params_bytes = static_cast<uint64_t>(slot.rendered.params.bytes);
  record.command = commands_.size();
  for (const Operand& operand : dispatch.operands)
    record.ranges.push_back(range_of(operand, dispatch));
  if (dispatch.flags_errors) record.ranges.push_back({resources_->buffer(lowered_.flag), 0, 4});
  if (record.params_bytes > 0) {
    params_.resize(params_.size() + aligned(record.params_bytes, traits_.uniform_alignment));
    write_params(slot.rendered.params, *symbols_,
                 std::span(params_).subspan(record.params_offset, record.params_bytes));
    command.has_params = true;
    command.params_offset = static_cast<uint32_t>(record.params_offset);
  }
  if (report) report_dispatch(record, node, workgroups, *report);
  commands_.push_back(command);
  records_.push_back(std::move(record));
}

void Recorder::report_dispatch(const Record& record, int node, int64_t workgroups,
                               RunReport& report) const {
  DispatchReport entry;
  entry.kernel = record.dispatch->kernel.name;
  if (node >= 0) entry.node = compiled_.graph.node(node).name;
  for (const Operand& operand : record.dispatch->operands)
    if (operand.access != Access::read)
      entry.shape =
          text(operand.dtype, bound(lowered_.values[size_t(operand.value)].type.shape, *symbols_));
  entry.workgroups = workgroups;
  for (const BufferRange& range : record.ranges) entry.bytes += static_cast<int64_t>(range.bytes);
  report.dispatches.push_back(std::move(entry));
}

void Recorder::copy(ValueId source, ValueId target) {
  make_room(target);
  if (resources_->buffer(source) != resources_->buffer(target))
    copy_out(source, *resources_->buffer(target));
}

void Recorder::copy_out(ValueId source, Buffer& target, uint64_t offset) {
  Command command;
  command.kind = Command::Kind::copy;
  command.source = resources_->buffer(source).get();
  command.target = &target;
  command.target_offset = offset;
  command.bytes = whole_words(bytes_now(source));
  if (command.bytes > 0) commands_.push_back(command);
}

void Recorder::clear(ValueId value) {
  make_room(value);
  Command command;
  command.kind = Command::Kind::clear;
  command.target = resources_->buffer(value).get();
  command.bytes = whole_words(std::max<int64_t>(bytes_now(value), 4));
  commands_.push_back(command);
}

Recorder::Readback Recorder::read_back(const std::vector<ValueId>& values) {
  Readback readback;
  uint64_t most = 8;  // at the bounds of symbols, so that a growing extent needs no other buffer
  for (const ValueId value : values) {
    readback.offsets.push_back(readback.bytes);
    readback.bytes += aligned(whole_words(bytes_now(value)), 8);
    most += aligned(whole_words(capacity(value)), 8);
  }
  readback.staging = resources_->staging(most);
  for (size_t i = 0; i < values.size(); ++i)
    copy_out(values[i], *readback.staging, readback.offsets[i]);
  readback.bytes = std::max<uint64_t>(readback.bytes, 8);
  return readback;
}

void Recorder::complete() {
  if (!params_.empty()) {
    const BufferPtr& buffer = resources_->params(params_.size());
    resources_->gpu().write(*buffer, 0, params_);
  }
  for (Record& record : records_) {
    record.bindings = resources_->bind_group(record.dispatch, *record.pipeline, record.ranges,
                                             record.params_bytes);
    commands_[record.command].bindings = record.bindings.get();
  }
}

void Recorder::forget() {
  commands_.clear();
  records_.clear();
  params_.clear();
}

}  // namespace rlx::webgpu
