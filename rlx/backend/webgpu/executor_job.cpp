// A job of a program, in the order it happens: the device, what is computed once, a run and what
// comes back of it. All of it happens under the executor's lock.
#include <algorithm>

#include "rlx/backend/webgpu/executor_enter.h"
#include "rlx/image/uses.h"

namespace rlx::detail::webgpu {

using image::ValueId;
using Want = RunRequest::Want;

void Executor::start_job() {
  if (job_.request) {
    job_.started = Clock::now();
    job_.counters_before = counters_;
    ++counters_.runs;
    ++runs_begun_;
    states_.begin_run();
    job_.request->outputs.resize(image_.outputs.size());
    job_.request->device_outputs.resize(image_.outputs.size());
    job_.request->wanted.resize(image_.outputs.size(), Want::tensor);
    throw_late_errors();
    for (const image::Weight& weight : image_.weights)
      if (weight.value >= 0 && !host_.sources[size_t(weight.value)])
        fail(ErrorKind::invalid_input, "run: weight '", weight.name, "' has no tensor");
  }
  if (connect()) go_on();
}

// ---- The device --------------------------------------------------------------------------------

// False: the device is being opened or pipelines compiled, and it goes on with the callback.
bool Executor::connect() {
  const std::shared_ptr<WebGpuDevice> device = device_.lock();
  if (!device) fail(ErrorKind::device_lost, "run: the device was closed");
  if (LogicalDevicePtr open = device->logical().current()) return connect_to(std::move(open));
  LogicalDevicePtr open = expect_callback([&] {
    return device->logical().get([this](Result<LogicalDevicePtr> made) {
      enter(
          [&] {
            if (connect_to(made.take())) go_on();
          },
          1);
    });
  });
  if (!open) return false;
  --pending_;
  return connect_to(std::move(open));
}

bool Executor::connect_to(LogicalDevicePtr logical) {
  if (logical == connection_.logical && connection_.compiled) return true;
  if (logical != connection_.logical) {
    notice_loss();
    once_.valid = false;
    plan_ = nullptr;
    outcomes_.release();
    dropped_ = std::exchange(connection_, {});
    connection_.logical = std::move(logical);
  }
  std::vector<const image::Kernel*> kernels;
  for (const image::Kernel& kernel : image_.kernels) kernels.push_back(&kernel);
  std::optional<PipelineList> ready = expect_callback([&] {
    return connection_.logical->pipelines->get(
        connection_.logical->gpu, kernels, counters_.pipelines, [this](Result<PipelineList> made) {
          enter(
              [&] {
                connection_.pipelines = made.take();
                connection_.compiled = true;
                go_on();
              },
              1);
        });
  });
  if (!ready) return false;
  --pending_;
  connection_.pipelines = std::move(*ready);
  connection_.compiled = true;
  return true;
}

void Executor::go_on() {
  if (!connection_.resources)
    connection_.resources =
        std::make_unique<Resources>(connection_.logical, image_, needs_, counters_);
  if (needs_once()) return begin_once();
  if (job_.request) return begin_run();
  job_.over = true;  // it is prepared
}

// ---- What is computed once ---------------------------------------------------------------------

bool Executor::needs_once() const {
  if (image_.once.empty()) return false;
  bool same = once_.valid;
  for (size_t i = 0; i < needs_.once_sources.size(); ++i) {
    const std::optional<Tensor>& source = host_.sources[size_t(needs_.once_sources[i])];
    if (!source) return false;  // a weight is given later: the first run computes it
    same = same && once_.marks[i] == source->mark();
  }
  return !same;
}

void Executor::begin_once() {
  once_.valid = false;
  once_.marks.clear();
  for (const ValueId value : needs_.once_sources)
    once_.marks.push_back(host_.sources[size_t(value)]->mark());
  once_.cells.reset();
  once_.cells.evaluate();
  once_.plan = plan_memory(image_, once_.cells);
  check_budget(image_, once_.plan, options_.memory_budget);
  // Each value in a buffer of its own: slots are for the values of runs.
  std::fill(once_.plan.slot_of.begin(), once_.plan.slot_of.end(), -1);
  connection_.resources->use(once_.plan);
  if (find_once()) {
    once_.valid = true;
    return go_on();
  }
  place_once();
  recorder_.begin(*connection_.resources, connection_.pipelines, once_.cells, 0, nullptr);
  Run::Context context;
  context.once = true;
  context.skipped = &once_.skipped;
  context.resources = connection_.resources.get();
  context.cells = &once_.cells;
  run_.begin(context);
  job_.phase = Phase::once;
  walk();
}

// True where other programs have all of it.
bool Executor::find_once() {
  if (!connection_.once) connection_.once.emplace(once_.parts.size());
  once_.skipped = connection_.once->find(
      once_.parts, image_, once_.cells,
      [this](ValueId value) -> const Tensor& { return *host_.sources[size_t(value)]; },
      connection_.logical->once,
      [this](const OncePart& part, const StoredOnce& stored) { adopt_once(part, stored); });
  return std::all_of(once_.skipped.begin(), once_.skipped.end(), [](bool skip) { return skip; });
}

void Executor::adopt_once(const OncePart& part, const StoredOnce& stored) {
  for (size_t i = 0; i < part.kept.size(); ++i) {
    const image::Value& value = image_.values[size_t(part.kept[i])];
    if (value.on_host)
      host_.made[size_t(value.place)] = stored.tensors[i];
    else
      connection_.resources->adopt(part.kept[i], stored.buffers[i]);
  }
}

// Room for what is left to compute, and its weights. What it made before may be another program's
// by now and stays as it is.
void Executor::place_once() {
  std::vector<bool> used(image_.values.size(), false);
  for (size_t at = 0; at < image_.once.size(); ++at) {
    if (once_.skipped[at]) continue;
    const image::Use use = image::use_of(image_.once[at], image_.flag);
    for (const auto* values : {&use.reads, &use.writes})
      for (const ValueId value : *values) {
        used[size_t(value)] = true;
        used[size_t(image_.values[size_t(value)].place)] = true;
      }
  }
  for (const ValueId value : needs_.once_weights) {
    if (!used[size_t(value)]) continue;
    check_size(value, once_.plan, once_.cells);
    connection_.resources->hold_weight(value, *host_.sources[size_t(value)]);
  }
  for (const ValueId place : needs_.once_places) {
    if (!used[size_t(place)]) continue;
    check_size(place, once_.plan, once_.cells);
    connection_.resources->free(place);
    connection_.resources->fit_own(place, once_.plan.bytes_of[size_t(place)]);
  }
  if (image_.flag >= 0) connection_.resources->fit_own(image_.flag, kFlagBytes);
}

void Executor::finish_once() {
  if (job_.phase == Phase::once && recorder_.has_flagged()) {
    job_.phase = Phase::once_flag;
    const Recorder::Readback& readback = recorder_.read_back({});
    recorder_.flush();
    return start_read(readback);
  }
  recorder_.flush();
  for (const ValueId place : needs_.once_temporaries) connection_.resources->free(place);
  for (const ValueId value : needs_.once_weights)
    if (image_.values[size_t(value)].once_only) connection_.resources->free(value);
  const auto made = [this](const OncePart& part) {
    const auto stored = std::make_shared<StoredOnce>();
    for (const ValueId id : part.kept) {
      const image::Value& value = image_.values[size_t(id)];
      stored->buffers.push_back(value.on_host ? nullptr : connection_.resources->own(id));
      stored->tensors.push_back(value.on_host ? host_.made[size_t(value.place)] : Tensor());
    }
    return stored;
  };
  connection_.once->store(
      once_.parts, connection_.logical->once, made,
      [this](const OncePart& part, const StoredOnce& stored) { adopt_once(part, stored); });
  once_.valid = true;
  go_on();
}

// ---- A run -------------------------------------------------------------------------------------

void Executor::check_size(ValueId id, const MemoryPlan& plan, const image::Cells& cells) const {
  const int64_t bytes = plan.bytes_of[size_t(id)];
  const image::Value& value = image_.values[size_t(id)];
  if (bytes <= traits_.max_buffer_bytes || value.on_host) return;
  std::string type = text(value.dtype);
  if (cells.known(value.shape)) {
    const std::vector<int64_t> extents = cells.at(value.shape);
    type = text(TensorType{value.dtype, Shape(extents.begin(), extents.end())});
  }
  fail(ErrorKind::limit, "'", value.name, "' is ", type, " of ", bytes,
       " bytes; a buffer of this device holds ", traits_.max_buffer_bytes);
}

void Executor::prepare_plan() {
  plan_ = nullptr;  // until there is room for it: the next run then tries again
  std::shared_ptr<const MemoryPlan> plan = plans_.plan(image_, binding_.cells(), counters_);
  for (size_t v = 0; v < image_.values.size(); ++v)
    check_size(static_cast<ValueId>(v), *plan, binding_.cells());
  check_budget(image_, *plan, options_.memory_budget);
  connection_.resources->fit(*plan);
  plan_ = std::move(plan);
}

void Executor::begin_run() {
  states_.require_valid();
  image::Cells& cells = binding_.cells();
  const bool rebound = binding_.update(*job_.request);
  if (rebound || !plan_)
    prepare_plan();
  else
    connection_.resources->use(*plan_);
  for (const ValueId value : needs_.run_weights)
    connection_.resources->hold_weight(value, *host_.sources[size_t(value)]);
  for (size_t s = 0; s < image_.states.size(); ++s) {
    if (image_.states[s].value < 0 || !states_.is_stale(s)) continue;
    connection_.resources->upload(image_.states[s].value, states_.host_copy(s));
    states_.uploaded(s);
  }
  job_.inputs.assign(image_.values.size(), nullptr);
  for (size_t i = 0; i < image_.inputs.size(); ++i)
    if (image_.inputs[i].value >= 0) take_input(i);
  recorder_.begin(*connection_.resources, connection_.pipelines, cells, image_.once.size(),
                  job_.request->report);
  Run::Context context;
  context.resources = connection_.resources.get();
  context.cells = &cells;
  context.inputs = &job_.inputs;
  context.report = job_.request->report;
  run_.begin(context);
  job_.phase = Phase::run;
  walk();
}

void Executor::take_input(size_t index) {
  const ValueId value = image_.inputs[index].value;
  const Tensor* tensor = nullptr;
  for (const auto& [at, brought] : job_.brought)
    if (at == index) tensor = &brought;
  const bool on_device =
      index < job_.request->device_inputs.size() && job_.request->device_inputs[index].present();
  if (!on_device) tensor = &job_.request->inputs[index];
  if (tensor) {
    job_.inputs[size_t(value)] = tensor;
    connection_.resources->borrow(value, nullptr);
    if (needs_.on_device[size_t(value)])
      connection_.resources->upload_changed(
          value, *tensor, connection_.resources->capacity(value, binding_.cells()));
    return;
  }
  const auto* memory =
      dynamic_cast<const GpuMemory*>(job_.request->device_inputs[index].memory().get());
  if (!memory || memory->gpu() != connection_.resources->gpu_ptr())
    fail(ErrorKind::device_lost, "run: input '", image_.inputs[index].name,
         "' was on a device that is lost");
  if (memory->outcome() && memory->outcome()->known())
    if (const auto error = memory->outcome()->tell()) throw *error;
  connection_.resources->borrow(value, memory->buffer());
}

// Goes on until the steps are done or have to wait.
void Executor::walk() {
  switch (run_.advance()) {
    case Run::Progress::reading:
      return start_read(run_.readback());
    case Run::Progress::draining:
      return start_draining();
    case Run::Progress::done:
      return job_.phase == Phase::once ? finish_once() : finish_run();
  }
}

}  // namespace rlx::detail::webgpu
