// What comes back of a job: the queue, reads, outputs, the flag. Under the executor's lock.
#include <algorithm>

#include "rlx/backend/webgpu/executor_enter.h"
#include "rlx/image/storage.h"
#include "rlx/image/words.h"

namespace rlx::detail::webgpu {

using image::ValueId;
using Want = RunRequest::Want;

// ---- What comes back ---------------------------------------------------------------------------

void Executor::finish_run() {
  job_.read_outputs.clear();
  job_.read_values.clear();
  const bool flagged = recorder_.has_flagged();
  const auto is_wanted = [&](Want want) {
    return std::find(job_.request->wanted.begin(), job_.request->wanted.end(), want) !=
           job_.request->wanted.end();
  };
  std::shared_ptr<Outcome> outcome;
  if (flagged && !is_wanted(Want::tensor)) outcome = outcomes_.get(counters_.buffers);
  for (size_t i = 0; i < image_.outputs.size(); ++i) {
    const ValueId value = image_.outputs[i].value;
    if (job_.request->wanted[i] == Want::device) keep_output(i, outcome);
    if (job_.request->wanted[i] != Want::tensor || image_.values[size_t(value)].on_host) continue;
    job_.read_outputs.push_back(i);
    job_.read_values.push_back(value);
  }
  if (!job_.read_values.empty() || (flagged && !outcome)) {
    job_.phase = Phase::outputs;
    const Recorder::Readback& readback = recorder_.read_back(job_.read_values);
    recorder_.flush();
    return start_read(readback);
  }
  if (outcome) recorder_.copy_out(image_.flag, outcome->staging(*connection_.logical->gpu));
  recorder_.flush();
  if (outcome) outcome->start(connection_.logical->gpu, tickets_, this, runs_begun_);
  take_host_outputs();
  job_.over = true;
}

void Executor::keep_output(size_t index, const std::shared_ptr<Outcome>& outcome) {
  const image::Output& output = image_.outputs[index];
  const auto bytes = whole_words(recorder_.capacity(output.value));
  const std::shared_ptr<GpuMemory> memory =
      connection_.resources->keep(output.value, bytes, output.name);
  memory->set_outcome(outcome);
  if (image_.values[size_t(output.value)].on_host) {
    std::vector<std::byte> scratch;
    upload(*connection_.logical->gpu, *memory->buffer(), 0, *run_.on_host(output.value),
           output.name, scratch, counters_);
  } else {
    recorder_.copy_out(output.value, *memory->buffer());
  }
  memory->set_in_words(image::is_in_words(image_, output));
  const std::vector<int64_t> extents = binding_.cells().at(output.shape);
  job_.request->device_outputs[index] = {output.type.dtype, Shape(extents.begin(), extents.end()),
                                         memory};
}

// The tensor of an output, used again where it has the shape already.
Tensor& Executor::output_tensor(size_t index) {
  const image::Output& output = image_.outputs[index];
  Tensor& tensor = job_.request->outputs[index];
  bool same = tensor.dtype() == output.type.dtype && tensor.shape().size() == output.shape.size();
  for (size_t d = 0; same && d < output.shape.size(); ++d)
    same = tensor.shape()[d] == binding_.cells().at(output.shape[d]);
  if (same) return tensor;
  const std::vector<int64_t> extents = binding_.cells().at(output.shape);
  return tensor = Tensor(output.type.dtype, Shape(extents.begin(), extents.end()));
}

void Executor::take_outputs(std::span<const std::byte> bytes) {
  if (job_.readback->has_flag)
    if (const auto error = error_in(bytes.subspan(job_.readback->offsets.back()), image_))
      throw *error;
  for (size_t i = 0; i < job_.read_outputs.size(); ++i) {
    const std::span<const std::byte> read = bytes.subspan(job_.readback->offsets[i]);
    Tensor& tensor = output_tensor(job_.read_outputs[i]);
    if (image::is_in_words(image_, image_.outputs[job_.read_outputs[i]]))
      image::take_words(read, tensor);
    else
      from_device(read, tensor);
  }
}

void Executor::take_host_outputs() {
  for (size_t i = 0; i < image_.outputs.size(); ++i) {
    const ValueId value = image_.outputs[i].value;
    if (job_.request->wanted[i] != Want::tensor || !image_.values[size_t(value)].on_host) continue;
    const Tensor& made = *run_.on_host(value);
    Tensor& tensor = output_tensor(i);
    if (tensor.count() > 0)
      std::memcpy(tensor.mutable_bytes().data(), made.bytes().data(), tensor.bytes().size());
  }
}

// ---- The queue ---------------------------------------------------------------------------------

// The same for a call of the device, start(id), which gives the ticket that waiting takes.
template <class Start>
void Executor::start_callback(const Start& start) {
  expect_callback([&] { tickets_->start(this, connection_.logical->gpu, start); });
}

void Executor::submit(std::span<const Command> commands, size_t dispatches) {
  ++counters_.submits;
  counters_.dispatches += dispatches;
  const bool in_run = job_.phase == Phase::run || job_.phase == Phase::outputs;
  RunReport* report = in_run ? job_.request->report : nullptr;
  if (!report || !traits_.timestamps || dispatches == 0) {
    connection_.logical->gpu->submit(commands);
    return states_.submitted();
  }
  const size_t first = report->dispatches.size() - dispatches;
  start_callback([&](Tickets::Id id) {
    return connection_.logical->gpu->submit(
        commands, {.timestamps = true}, [this, first, id](Result<SubmitTimes> times) {
          tickets_->close(id);
          enter([&] { take_times(first, std::move(times)); }, 1);
        });
  });
  states_.submitted();
}

void Executor::take_times(size_t first, Result<SubmitTimes> times) {
  const SubmitTimes measured = times.take();  // the device tells an error once: the run has failed
  for (size_t i = 0; i < measured.dispatch_microseconds.size(); ++i)
    job_.request->report->dispatches[first + i].microseconds = measured.dispatch_microseconds[i];
}

void Executor::start_read(const Recorder::Readback& readback) {
  ++counters_.readbacks;
  counters_.readback_bytes += readback.bytes;
  job_.readback = &readback;
  start_callback([&](Tickets::Id id) {
    return connection_.logical->gpu->read(
        *readback.staging, 0, readback.bytes,
        [this](Result<std::span<const std::byte>> bytes) { take_bytes(std::move(bytes)); },
        [this, id] {
          tickets_->close(id);
          enter([this] { resume(); }, 1);
        });
  });
}

// The bytes are gone when this returns; the run goes on when their buffer is free again.
void Executor::take_bytes(Result<std::span<const std::byte>> bytes) {
  const std::lock_guard lock(mutex_);
  if (abandoned_ || job_.over) return;
  try {
    const std::span<const std::byte> read = bytes.take();
    if (job_.phase == Phase::outputs)
      take_outputs(read);
    else if (job_.phase != Phase::once_flag)
      run_.take(read);
    else if (const auto error = error_in(read, image_))
      throw *error;
  } catch (...) {
    job_.read_failure = current_error();
  }
}

void Executor::resume() {
  if (job_.over) return;  // it has failed meanwhile
  if (job_.read_failure) throw Error(*std::exchange(job_.read_failure, std::nullopt));
  if (job_.phase == Phase::once_flag) return finish_once();
  if (job_.phase != Phase::outputs) return walk();
  take_host_outputs();
  job_.over = true;
}

// A long loop records faster than the device works: it goes on when that has caught up.
void Executor::start_draining() {
  recorder_.flush();
  start_callback([&](Tickets::Id id) {
    return connection_.logical->gpu->finish([this, id](Result<bool> finished) {
      tickets_->close(id);
      enter(
          [&] {
            finished.take();
            if (!job_.over) walk();
          },
          1);
    });
  });
}

void Executor::fill_report(RunReport& report) {
  report.device = traits_.name;
  report.microseconds = microseconds_since(job_.started);
  report.counters = difference(counters_, job_.counters_before);
  if (plan_) report_plan(image_, *plan_, report);
  report.caches = {plans_.report()};
  if (connection_.logical) report.caches.push_back(connection_.logical->pipelines->report());
  report.restored_states = states_.take_restored();
}

}  // namespace rlx::detail::webgpu
