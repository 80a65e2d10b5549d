#include "rlx/backend/webgpu/recorder.h"

#include <algorithm>
#include <limits>

#include "rlx/backend/webgpu/upload.h"

namespace rlx::detail::webgpu {

using image::Access;
using image::kNone;
using image::ValueId;

void Recorder::begin(Resources& resources, const PipelineList& pipelines, image::Cells& cells,
                     size_t first_record, RunReport* report) {
  forget();
  resources_ = &resources;
  pipelines_ = &pipelines;
  cells_ = &cells;
  report_ = report;
  first_record_ = first_record;
  pieces_ = 0;
  flagged_ = false;
  resources_->params().rewind();
}

void Recorder::make_room(ValueId value) {
  if (!resources_->is_late(value)) return;
  late_.spend(image_.values[size_t(value)].place, bytes_now(value), image_);
  if (resources_->fits(value, bytes_now(value))) return;
  flush();  // what is recorded points to the old buffer
  resources_->fit_own(image_.values[size_t(value)].place, bytes_now(value));
}

// So that what is recorded takes a bounded amount of memory, however long a loop runs.
void Recorder::limit_commands() {
  if (commands_.size() < kMostCommands) return;
  ++pieces_;
  flush();
}

// A window from the start is bound as far as the value may reach: its bind group then lasts.
BufferRange Recorder::range_of(const image::Bound& operand, const image::Kernel& kernel) const {
  const BufferPtr& buffer = resources_->buffer(operand.value);
  const int64_t most = resources_->traits().max_binding_bytes;
  const auto held = static_cast<int64_t>(buffer->bytes());
  const auto begin = static_cast<int64_t>(resources_->offset(operand.value));
  int64_t offset = 0, bytes = static_cast<int64_t>(whole_words(capacity(operand.value)));
  if (operand.first != kNone) {
    offset = cells_->at(operand.first);
    if (offset > 0 || bytes > most)
      bytes = static_cast<int64_t>(whole_words(std::max<int64_t>(cells_->at(operand.bytes), 4)));
  }
  bytes = std::min(bytes, held - begin - offset);
  if (bytes > most) {
    const image::Value& value = image_.values[size_t(operand.value)];
    const std::vector<int64_t> extents = cells_->at(value.shape);
    fail(ErrorKind::limit, kernel.name, ": '", value.name, "' is ",
         TensorType{value.dtype, Shape(extents.begin(), extents.end())}, " of ", bytes,
         " bytes; this device binds at most ", most);
  }
  return {buffer, static_cast<uint64_t>(begin + offset), static_cast<uint64_t>(bytes)};
}

// More workgroups than one dimension takes are laid out in two.
void Recorder::fold(int64_t workgroups, const image::Kernel& kernel, Command& command) const {
  const int64_t most = resources_->traits().max_workgroups;
  const int64_t rows = (workgroups + most - 1) / most;
  if (rows > most)
    fail(ErrorKind::limit, kernel.name, ": needs ", workgroups,
         " workgroups; this device runs at most ", most, " squared");
  command.workgroups[0] = static_cast<uint32_t>((workgroups + rows - 1) / rows);
  command.workgroups[1] = static_cast<uint32_t>(rows);
}

const image::Choice& Recorder::choose(const image::Dispatch& dispatch, size_t& index) const {
  for (index = 0; index < dispatch.choices.size(); ++index) {
    const image::Choice& choice = dispatch.choices[index];
    if (choice.guard == kNone || cells_->at(choice.guard) != 0) return choice;
  }
  fail(ErrorKind::unsupported, "no kernel of this dispatch serves these extents");
}

void Recorder::dispatch(const image::Dispatch& dispatch, size_t step, int32_t node) {
  bool writes = false;
  for (const image::Bound& operand : dispatch.operands) {
    if (operand.access == Access::read) continue;
    make_room(operand.value);
    writes |= bytes_now(operand.value) > 0;
  }
  if (!writes) return;  // an empty result costs nothing
  const int64_t repeat = dispatch.repeat == kNone ? 1 : cells_->at(dispatch.repeat);
  for (int64_t i = 0; i < repeat; ++i) {
    if (dispatch.shard != kNone) cells_->set(dispatch.shard, i);
    if (dispatch.segment >= 0) cells_->evaluate(image_.numbers.segments[size_t(dispatch.segment)]);
    record(dispatch, step, node);
  }
}

void Recorder::record(const image::Dispatch& dispatch, size_t step, int32_t node) {
  size_t index = 0;
  const image::Choice& choice = choose(dispatch, index);
  const int64_t workgroups = cells_->at(choice.workgroups);
  if (workgroups <= 0) return;
  const image::Kernel& kernel = image_.kernels[size_t(choice.kernel)];
  limit_commands();
  Command command;
  command.pipeline = (*pipelines_)[size_t(choice.kernel)].get();
  fold(workgroups, kernel, command);
  if (kernel.params_bytes > 0) write_params(choice, kernel, command);
  if (dispatch.flags_errors && !flagged_) {  // what an earlier run left there is not this one's
    clear(image_.flag);
    flagged_ = true;
  }
  command.bindings = bind(dispatch, step, index, kernel);
  commands_.push_back(command);
  ++dispatches_;
  if (report_) report_dispatch(dispatch, kernel, node, workgroups);
}

void Recorder::write_params(const image::Choice& choice, const image::Kernel& kernel,
                            Command& command) {
  const auto bytes = static_cast<uint64_t>(kernel.params_bytes);
  ParamsBlock& block = resources_->params();
  if (!block.has_room(bytes)) {  // a loop: from the front again, behind what it has submitted
    flush();
    block.rewind();
  }
  const std::span<std::byte> target = block.add(bytes, command.params_offset);
  command.has_params = true;
  std::memcpy(target.data(), choice.params.data(), std::min(choice.params.size(), target.size()));
  for (const image::Choice::Word& word : choice.words) {
    const int64_t value = cells_->at(word.number);
    if (value > std::numeric_limits<uint32_t>::max() || value < std::numeric_limits<int32_t>::min())
      fail(ErrorKind::limit, kernel.name, ": a param is ", value, ", a kernel counts in 32 bits");
    const auto bits = static_cast<uint32_t>(value);
    std::memcpy(target.data() + word.offset, &bits, 4);
  }
}

BindGroup* Recorder::bind(const image::Dispatch& dispatch, size_t step, size_t choice,
                          const image::Kernel& kernel) {
  BindGroups& groups = resources_->groups();
  const size_t record = first_record_ + step;
  // Of a window, or of a value that no plan has sized, each run may bind another part.
  const bool may_differ = std::any_of(
      dispatch.operands.begin(), dispatch.operands.end(), [this](const image::Bound& operand) {
        return operand.first != kNone || resources_->is_late(operand.value);
      });
  if (!may_differ)
    if (BindGroup* last = groups.last(record, choice, resources_->generation())) return last;
  ranges_.clear();
  for (const image::Bound& operand : dispatch.operands)
    ranges_.push_back(range_of(operand, kernel));
  if (dispatch.flags_errors) {
    const BufferPtr& flag = resources_->buffer(image_.flag);
    ranges_.push_back({flag, 0, flag->bytes()});
  }
  // The other choices too, so that an extent which takes one of them creates nothing.
  BindGroup* found = nullptr;
  for (size_t i = 0; i < dispatch.choices.size(); ++i) {
    const size_t each = (choice + 1 + i) % dispatch.choices.size();  // the one at hand last
    const auto at = size_t(dispatch.choices[each].kernel);
    const BufferRange params{resources_->params().buffer(), 0,
                             static_cast<uint64_t>(image_.kernels[at].params_bytes)};
    found = groups.get(resources_->gpu(), record, each, resources_->generation(),
                       *(*pipelines_)[at], ranges_, params);
  }
  return found;
}

void Recorder::report_dispatch(const image::Dispatch& dispatch, const image::Kernel& kernel,
                               int32_t node, int64_t workgroups) const {
  DispatchReport entry;
  entry.kernel = kernel.name;
  if (node >= 0) entry.node = image_.nodes[size_t(node)].name;
  entry.workgroups = workgroups;
  for (const image::Bound& operand : dispatch.operands) {
    entry.bytes += static_cast<int64_t>(range_of(operand, kernel).bytes);
    if (operand.access == Access::read) continue;
    const image::Value& value = image_.values[size_t(operand.value)];
    const std::vector<int64_t> extents = cells_->at(value.shape);
    entry.shape = text(value.dtype, Shape(extents.begin(), extents.end()));
  }
  report_->dispatches.push_back(std::move(entry));
}

void Recorder::copy(ValueId source, ValueId target) {
  if (image_.values[size_t(source)].place == image_.values[size_t(target)].place) return;
  make_room(target);
  if (resources_->buffer(source) != resources_->buffer(target))
    return copy_out(source, *resources_->buffer(target), resources_->offset(target));
  if (resources_->offset(source) != resources_->offset(target))  // a device copies between two
    fail(ErrorKind::invalid_model, "'", image_.values[size_t(source)].name, "' and its copy '",
         image_.values[size_t(target)].name, "' lie in one buffer");
}

void Recorder::copy_out(ValueId source, Buffer& target, uint64_t offset) {
  limit_commands();
  Command command;
  command.kind = Command::Kind::copy;
  command.source = resources_->buffer(source).get();
  command.source_offset = resources_->offset(source);
  command.target = &target;
  command.target_offset = offset;
  command.bytes = whole_words(bytes_now(source));
  if (command.bytes > 0) commands_.push_back(command);
}

void Recorder::clear(ValueId value) {
  make_room(value);
  limit_commands();
  Command command;
  command.kind = Command::Kind::clear;
  command.target = resources_->buffer(value).get();
  command.target_offset = resources_->offset(value);
  command.bytes = whole_words(std::max<int64_t>(bytes_now(value), 4));
  commands_.push_back(command);
}

const Recorder::Readback& Recorder::read_back(const std::vector<ValueId>& values) {
  readback_.offsets.clear();
  readback_.bytes = 0;
  readback_.has_flag = flagged_;
  uint64_t most = 8;  // at the bounds of symbols, so that a growing extent needs no other buffer
  const auto place = [&](ValueId value) {
    readback_.offsets.push_back(readback_.bytes);
    readback_.bytes += aligned(whole_words(bytes_now(value)), 8);
    most += aligned(whole_words(capacity(value)), 8);
  };
  for (const ValueId value : values) place(value);
  if (flagged_) place(image_.flag);
  readback_.staging = resources_->staging(most);
  for (size_t i = 0; i < values.size(); ++i)
    copy_out(values[i], *readback_.staging, readback_.offsets[i]);
  if (flagged_) copy_out(image_.flag, *readback_.staging, readback_.offsets.back());
  readback_.bytes = std::max<uint64_t>(readback_.bytes, 8);
  return readback_;
}

void Recorder::flush() {
  if (commands_.empty()) return;
  resources_->params().upload(resources_->gpu());
  queue_.submit(commands_, dispatches_);
  resources_->groups().submitted();
  forget();
}

void Recorder::forget() {
  commands_.clear();
  dispatches_ = 0;
}

}  // namespace rlx::detail::webgpu
