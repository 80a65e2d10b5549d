// Turns, callbacks and runs of a program. What a job does is in executor_job.cpp.
#include "rlx/backend/webgpu/executor.h"

#include <algorithm>

#include "rlx/backend/webgpu/executor_enter.h"
#include "rlx/image/words.h"

namespace rlx::detail::webgpu {

namespace {

// Runs whose error flag is still to come: whoever waits anyhow lets no more pile up.
constexpr int kMostOutcomes = 16;

PrepareOptions complete(PrepareOptions options) {
  if (!options.implementations)
    options.implementations = std::make_shared<const image::Implementations>();
  return options;
}

}  // namespace

Executor::Executor(const std::shared_ptr<WebGpuDevice>& device, PrepareOptions options)
    : device_(device),
      tickets_(device->tickets()),
      options_(complete(std::move(options))),
      image_(*options_.image),
      traits_(device->traits()),
      needs_(needs_of(image_, traits_)),
      states_(image_),
      binding_(image_, *options_.implementations),
      recorder_(image_, *this),
      run_(image_, *options_.implementations, needs_, recorder_, states_, host_, counters_),
      once_(image_),
      outcomes_(options_.image) {
  host_.made.resize(image_.values.size());
  host_.sources.resize(image_.values.size());
  for (size_t v = 0; v < image_.values.size(); ++v)
    if (const int32_t source = image_.values[v].source; source >= 0)
      host_.sources[v] = image_.sources[size_t(source)];
}

// ---- Turns and callbacks -----------------------------------------------------------------------

void Executor::hold() {
  turns_.begin([this] { tickets_->wait(this, [this] { return !turns_.is_asynchronous(); }); });
}

void Executor::begin_job(RunRequest* request, RunDone done, bool waiting, Brought brought) {
  bool begun = false;
  enter([&] {
    begun = true;
    job_.request = request;
    job_.done = std::move(done);
    job_.waiting = waiting;
    job_.brought = std::move(brought);
    job_.active = true;
    job_.over = false;
    job_.failure.reset();
    job_.read_failure.reset();
    start_job();
  });
  if (!begun) tell_dropped(done);
}

void Executor::fail_job(const Error& error) {
  if (!job_.failure) job_.failure = error;
  job_.over = true;
  recorder_.forget();
}

// Once nothing is to come any more: callbacks still write into the report.
Executor::Ending Executor::take_ending() {
  if (!job_.active || !job_.over || pending_ > 0) return {};
  job_.active = false;
  if (job_.request) {
    states_.end_run(job_.failure);
    if (job_.failure)
      std::fill(job_.request->device_outputs.begin(), job_.request->device_outputs.end(),
                DeviceTensor());
    if (job_.request->report) fill_report(*job_.request->report);
  }
  job_.brought.clear();
  job_.request = nullptr;
  {
    const std::lock_guard lock(counters_mutex_);
    counters_told_ = counters_;
  }
  return {std::move(job_.done), std::exchange(job_.failure, std::nullopt), !job_.waiting};
}

void Executor::tell(Ending ending) {
  const Error* error = ending.failure ? &*ending.failure : nullptr;
  if (!ending.ends_turn) return ending.done(error);  // to run(), which has the turn
  turns_.end();
  user_calls_.call([&] { ending.done(error); });
}

void Executor::abandon() {
  RunDone done;
  // What may be the last to hold the device goes when the lock is gone: the device then calls back.
  Connection connection;
  std::vector<std::shared_ptr<Outcome>> outcomes;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    if (job_.active) done = std::move(job_.done);
    job_.active = false;
    connection = std::exchange(connection_, {});
    outcomes = outcomes_.release();
  }
  tickets_->abandon(this);
  if (done) tell_dropped(done);
}

void Executor::tell_dropped(const RunDone& done) {
  const Error error(ErrorKind::unsupported, "run_async: the program was dropped before its run");
  try {
    done(&error);
  } catch (...) {  // nobody is left to wait for this program
  }
}

// ---- Runs --------------------------------------------------------------------------------------

// What was on a device that is lost counts as here: the run says so. 64-bit integers are in one
// word or in two, as each program has them, so they come through the host where they may differ.
bool Executor::is_here(const DeviceTensor& tensor) const {
  const auto* memory = dynamic_cast<const GpuMemory*>(tensor.memory().get());
  if (!memory || memory->in_words()) return false;
  if (tensor.dtype() == DType::i64)
    for (const image::Input& input : image_.inputs)
      if (image::is_in_words(image_, input)) return false;
  const std::shared_ptr<WebGpuDevice> device = device_.lock();
  const LogicalDevicePtr open = device ? device->logical().current() : nullptr;
  return (open && memory->gpu() == open->gpu) || memory->gpu()->lost();
}

namespace {

// Callbacks of another device, for those who wait for this one.
struct OtherDevice : Waitable {
  explicit OtherDevice(std::shared_ptr<Bringing> reads) : bringing(std::move(reads)) {}
  void wait(Ticket /*ticket*/) override { bringing->wait(); }
  const std::shared_ptr<Bringing> bringing;
};

}  // namespace

void Executor::prepare_async(RunDone done) {
  turns_.try_begin();
  begin_job(nullptr, std::move(done), false, {});
}

// Lets flags of earlier runs arrive that are there already.
void Executor::poll() {
  if (outcomes_.pending() == 0) return;
  std::shared_ptr<LogicalDevice> logical;
  {
    const std::lock_guard lock(mutex_);
    logical = connection_.logical;
  }
  if (logical) logical->gpu->poll();
}

void Executor::run_async(RunRequest& request, RunDone done) {
  poll();
  if (!turns_.try_begin()) {
    const Error error(ErrorKind::unsupported, "run_async: a run of this program is under way");
    return user_calls_.call([&] { done(&error); });
  }
  const std::shared_ptr<Bringing> bringing =
      Bringing::of(request, [this](const DeviceTensor& tensor) { return is_here(tensor); });
  if (!bringing) return begin_job(&request, std::move(done), false, {});
  const auto other = std::make_shared<OtherDevice>(bringing);
  const Tickets::Id id = tickets_->open(this);
  tickets_->set(id, other, 0);
  bringing->start([self = shared_from_this(), other, id, &request, done](Result<Brought> brought) {
    self->tickets_->close(id);
    if (brought.ok()) return self->begin_job(&request, done, false, brought.take());
    self->turns_.end();
    self->user_calls_.call([&] { done(&brought.error()); });
  });
}

void Executor::run(RunRequest& request) {
  poll();
  if (outcomes_.pending() > kMostOutcomes)
    tickets_->wait(this, [this] { return outcomes_.pending() <= kMostOutcomes; });
  // Before it is anybody's turn, since reading lets callbacks arrive.
  Brought brought = bring(request, [this](const DeviceTensor& tensor) { return is_here(tensor); });
  hold();
  try {
    user_calls_.rethrow();
  } catch (...) {
    turns_.end();
    throw;
  }
  finished_ = false;
  begin_job(
      &request,
      [this](const Error* error) {
        if (error) run_failure_ = *error;
        finished_ = true;
      },
      true, std::move(brought));
  if (!finished_) tickets_->wait(this, [this] { return finished_.load(); });
  const std::optional<Error> failure = std::exchange(run_failure_, std::nullopt);
  turns_.end();
  if (failure) throw *failure;
}

void Executor::wait() {
  const bool inside = user_calls_.is_here();  // the call that this one is part of ends after it
  tickets_->wait(this, [&] {
    return !turns_.taken() && (inside || !user_calls_.is_anywhere()) && outcomes_.pending() == 0;
  });
  user_calls_.rethrow();
  if (const auto error = outcomes_.errors().take()) throw *error;
}

Counters Executor::counters() const {
  const std::lock_guard lock(counters_mutex_);
  return counters_told_;
}

}  // namespace rlx::detail::webgpu
