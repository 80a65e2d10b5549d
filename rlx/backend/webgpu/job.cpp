#include "rlx/backend/webgpu/job.h"

#include <algorithm>
#include <utility>

namespace rlx::detail::webgpu {

using image::ValueId;
using Want = RunRequest::Want;

Error dropped_error() {
  return {ErrorKind::unsupported, "run_async: the program was dropped before its run"};
}

Job::Job(const PrepareOptions& options, const ImageNeeds& needs, HostValues& host,
         Connection& connection, RunLog& log, Callbacks& callbacks, Counters& counters)
    : image_(*options.image),
      needs_(needs),
      host_(host),
      connection_(connection),
      log_(log),
      callbacks_(callbacks),
      counters_(counters),
      queue_(*this, connection, callbacks, log.states(), counters),
      recorder_(image_, queue_),
      steps_(image_, *options.implementations, needs, recorder_, log.states(), host, counters),
      once_(image_, needs, options.memory_budget, host, connection),
      plan_(options, connection, counters),
      inputs_(image_, needs, connection),
      outputs_(image_, connection, log, recorder_, steps_, callbacks.tickets(), counters) {}

// ---- Beginning and end -------------------------------------------------------------------------

void Job::begin(RunRequest* request, RunDone done, Brought brought) {
  now_.request = request;
  now_.done = std::move(done);
  now_.brought = std::move(brought);
  now_.active = true;
  now_.over = false;
  now_.failure.reset();
  now_.read_failure.reset();
  if (request) begin_request();
  if (connection_.open([this] { prepare(); })) prepare();
}

void Job::begin_request() {
  now_.started = Clock::now();
  now_.counters_before = counters_;
  ++counters_.runs;
  log_.begin_run();
  now_.request->outputs.resize(image_.outputs.size());
  now_.request->device_outputs.resize(image_.outputs.size());
  now_.request->wanted.resize(image_.outputs.size(), Want::tensor);
  log_.throw_late_errors();
  for (const image::Weight& weight : image_.weights)
    if (weight.value >= 0 && !host_.sources[size_t(weight.value)])
      rlx::fail(ErrorKind::invalid_input, "run: weight '", weight.name, "' has no tensor");
}

void Job::fail(const Error& error) {
  if (!now_.failure) now_.failure = error;
  now_.over = true;
  recorder_.forget();
}

void Job::settle() {
  if (!now_.active || !now_.over) return;
  now_.active = false;
  if (now_.request) {
    log_.end_run(now_.failure);
    if (now_.failure)
      std::fill(now_.request->device_outputs.begin(), now_.request->device_outputs.end(),
                DeviceTensor());
    if (now_.request->report) fill_report(*now_.request->report);
  }
  now_.brought.clear();
  now_.request = nullptr;
  queue_.report_to(nullptr);
  {
    const std::lock_guard lock(told_mutex_);
    told_ = counters_;
  }
  callbacks_.call_later(std::move(now_.done), std::exchange(now_.failure, std::nullopt));
}

void Job::abandon() {
  if (std::exchange(now_.active, false))
    callbacks_.call_later(std::move(now_.done), dropped_error());
}

Counters Job::counters() const {
  const std::lock_guard lock(told_mutex_);
  return told_;
}

void Job::fill_report(RunReport& report) {
  report.device = connection_.traits().name;
  report.microseconds = microseconds_since(now_.started);
  report.counters = difference(counters_, now_.counters_before);
  plan_.fill_report(report);
  if (const LogicalDevicePtr logical = connection_.logical())
    report.caches.push_back(logical->pipelines->report());
  report.restored_states = log_.states().take_restored();
}

// ---- From the device to the last step ----------------------------------------------------------

// The connection is open.
void Job::prepare() {
  if (once_.are_due()) return begin_once();
  if (now_.request) return begin_run();
  now_.over = true;
}

void Job::begin_once() {
  if (once_.begin()) return prepare();
  queue_.report_to(nullptr);
  recorder_.begin(connection_.resources(), connection_.pipelines(), once_.cells(), 0, nullptr);
  recorder_.limit_late(INT64_MAX);
  Run::Context context;
  context.once = true;
  context.skipped = &once_.skipped();
  context.resources = &connection_.resources();
  context.cells = &once_.cells();
  steps_.begin(context);
  now_.phase = Phase::once;
  walk();
}

void Job::begin_run() {
  Resources& resources = connection_.resources();
  log_.states().require_valid();
  plan_.update(*now_.request);
  for (const ValueId value : needs_.run_weights) resources.hold_weight(value, host_.source(value));
  upload_states();
  inputs_.take(*now_.request, now_.brought, plan_.cells());
  queue_.report_to(now_.request->report);
  recorder_.begin(resources, connection_.pipelines(), plan_.cells(), image_.once.size(),
                  now_.request->report);
  recorder_.limit_late(plan_.bytes_left());
  Run::Context context;
  context.resources = &resources;
  context.cells = &plan_.cells();
  context.inputs = &inputs_.on_host();
  context.report = now_.request->report;
  context.iteration_budget = now_.request->iteration_budget;
  steps_.begin(context);
  now_.phase = Phase::run;
  walk();
}

void Job::upload_states() {
  States& states = log_.states();
  for (size_t s = 0; s < image_.states.size(); ++s) {
    if (image_.states[s].value < 0 || !states.is_stale(s)) continue;
    connection_.resources().upload(image_.states[s].value, states.host_copy(s));
    states.uploaded(s);
  }
}

// Goes on until the steps are done or have to wait.
void Job::walk() {
  switch (steps_.advance()) {
    case Run::Progress::reading:
      return queue_.read(steps_.readback());
    case Run::Progress::draining:  // a long loop records faster than the device works
      recorder_.flush();
      return queue_.drain();
    case Run::Progress::done:
      return now_.phase == Phase::once ? finish_once() : finish_run();
  }
}

void Job::finish_once() {
  if (now_.phase == Phase::once && recorder_.has_flagged()) {
    now_.phase = Phase::once_flag;
    const Recorder::Readback& readback = recorder_.read_back({});
    recorder_.flush();
    return queue_.read(readback);
  }
  recorder_.flush();
  once_.finish();
  plan_.take_once(once_.cells());
  prepare();
}

void Job::finish_run() {
  if (const Recorder::Readback* readback =
          outputs_.submit(*now_.request, plan_.cells(), inputs_.outcomes())) {
    now_.phase = Phase::outputs;
    return queue_.read(*readback);
  }
  outputs_.take_from_host();
  if (outputs_.is_any_read()) return check_inputs();
  now_.over = true;
}

// The run is over when it is known how those ended whose results it was given on the device: what
// they clamped is in what it computed.
void Job::check_inputs() {
  for (const std::shared_ptr<Outcome>& outcome : inputs_.outcomes()) {
    const bool known = callbacks_.expect([&] {
      return !outcome->when_known([this, self = callbacks_.hold()] {
        callbacks_.arrive([this] {
          if (!now_.over) check_inputs();
        });
      });
    });
    if (!known) return;
  }
  if (const auto error = tell(inputs_.outcomes())) throw *error;
  now_.over = true;
}

// ---- What comes back ---------------------------------------------------------------------------

void Job::take(Result<std::span<const std::byte>> bytes) {
  if (now_.over) return;
  try {
    const std::span<const std::byte> read = bytes.take();
    if (now_.phase == Phase::outputs)
      outputs_.take(read);
    else if (now_.phase != Phase::once_flag)
      steps_.take(read);
    else if (const auto error = error_in(read, image_))
      throw *error;
  } catch (...) {
    now_.read_failure = current_error();
  }
}

void Job::go_on() {
  if (now_.over) return;  // it has failed meanwhile
  if (now_.read_failure) throw Error(*std::exchange(now_.read_failure, std::nullopt));
  if (now_.phase == Phase::once_flag) return finish_once();
  if (now_.phase != Phase::outputs) return walk();
  outputs_.take_from_host();
  check_inputs();
}

}  // namespace rlx::detail::webgpu
