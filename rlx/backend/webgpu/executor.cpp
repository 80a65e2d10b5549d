#include "rlx/backend/webgpu/executor.h"

#include <utility>

#include "rlx/backend/named_values.h"

namespace rlx::detail::webgpu {

namespace {

// A run may end before its error flag has arrived. A blocking run waits where so many flags are
// due.
constexpr int kMostOutcomes = 16;

PrepareOptions complete(PrepareOptions options) {
  if (!options.implementations)
    options.implementations = std::make_shared<const image::Implementations>();
  return options;
}

Error under_way(const char* call) {
  return {ErrorKind::unsupported, text(call, ": a run of this program is under way")};
}

Result<bool> result_of(const Error* error) {
  return error ? Result<bool>(*error) : Result<bool>(true);
}

}  // namespace

Executor::Executor(const std::shared_ptr<WebGpuDevice>& device, PrepareOptions options)
    : options_(complete(std::move(options))),
      image_(*options_.image),
      needs_(needs_of(image_, *options_.implementations, device->traits())),
      callers_(OwnTickets(device->tickets(), this)),
      callbacks_(*this, callers_.tickets()),
      host_(image_),
      log_(options_.image),
      connection_(device, image_, needs_, counters_, callbacks_,
                  [this](const std::string& reason) { log_.lose_device(reason); }),
      job_(options_, needs_, host_, connection_, log_, callbacks_, counters_),
      state_reader_(image_, log_, connection_, callbacks_) {}

void Executor::abandon() {
  // What may be the last to hold the device goes when the lock is gone: the device then calls back.
  std::shared_ptr<void> connection;
  std::vector<std::shared_ptr<Outcome>> outcomes;
  callbacks_.abandon([&] {
    job_.abandon();
    connection = connection_.close();
    outcomes = log_.release();
  });
}

// ---- Runs --------------------------------------------------------------------------------------

void Executor::begin_job(RunRequest* request, RunDone done, Brought brought) {
  const bool begun =
      callbacks_.enter([&] { job_.begin(request, std::move(done), std::move(brought)); });
  if (begun) return;
  const Error error = dropped_error();
  done(&error);
}

// For an asynchronous call that has the turn. Whoever calls it holds the executor.
RunDone Executor::ending_turn(RunDone done) {
  return [this, done = std::move(done)](const Error* error) {
    callers_.end_turn([&] { done(error); });
  };
}

IsHere Executor::is_here() const {
  return [this](const DeviceTensor& tensor) { return connection_.is_here(tensor); };
}

// Lets flags of earlier runs arrive that are there already.
void Executor::poll() {
  if (log_.pending() == 0) return;
  LogicalDevicePtr logical;
  {
    const auto lock = callbacks_.lock();
    logical = connection_.logical();
  }
  if (logical) logical->gpu->poll();
}

void Executor::prepare_async(RunDone done) {
  callers_.try_begin_turn();
  begin_job(nullptr, ending_turn(std::move(done)), {});
}

namespace {

// Callbacks of another device, for those who wait for this one.
struct OtherDevice : Waitable {
  explicit OtherDevice(std::shared_ptr<Bringing> reads) : bringing(std::move(reads)) {}
  void wait(Ticket /*ticket*/) override { bringing->wait(); }
  const std::shared_ptr<Bringing> bringing;
};

}  // namespace

void Executor::run_async(RunRequest& request, RunDone done) {
  poll();
  if (!callers_.try_begin_turn()) {
    const Error error = under_way("run_async");
    return callers_.tell([&] { done(&error); });
  }
  const std::shared_ptr<Bringing> bringing = Bringing::of(request, is_here());
  if (!bringing) return begin_job(&request, ending_turn(std::move(done)), {});
  const auto other = std::make_shared<OtherDevice>(bringing);
  const Tickets::Id id = callers_.tickets().open();
  callers_.tickets().set(id, other, 0);
  bringing->start([self = shared_from_this(), other, id, &request,
                   ended = ending_turn(std::move(done))](Result<Brought> brought) {
    self->callers_.tickets().close(id);
    if (brought.ok()) return self->begin_job(&request, ended, brought.take());
    ended(&brought.error());
  });
}

void Executor::run(RunRequest& request) {
  poll();
  if (log_.pending() > kMostOutcomes)
    callers_.wait([this] { return log_.pending() <= kMostOutcomes; });
  // Before it is anybody's turn, since reading lets callbacks arrive.
  Brought brought = bring(request, is_here());
  const Callers::Turn turn(callers_);
  callers_.rethrow();
  begin_job(
      &request, [this](const Error* error) { run_answer_.give(result_of(error)); },
      std::move(brought));
  if (!run_answer_.is_there()) callers_.wait([this] { return run_answer_.is_there(); });
  run_answer_.take();
}

void Executor::wait() {
  callers_.wait_for_all([this] { return log_.pending() == 0; });
  if (const auto error = log_.take_error()) throw *error;
}

// ---- Weights and states, between runs ----------------------------------------------------------

void Executor::set_weight(const std::string& name, const Tensor& tensor) {
  const image::Weight& weight = weight_of(image_, name);
  check_type("weight", name, weight.type, tensor);
  const Callers::Turn turn(callers_);
  const auto lock = callbacks_.lock();
  if (weight.value >= 0) host_.sources[size_t(weight.value)] = tensor;
}

size_t Executor::index_of_state(const std::string& name) const {
  return static_cast<size_t>(&state_of(image_, name) - image_.states.data());
}

void Executor::write_state(const std::string& name, const Tensor& tensor) {
  const size_t state = index_of_state(name);
  check_type("state", name, image_.states[state].type, tensor);
  const Callers::Turn turn(callers_);
  const auto lock = callbacks_.lock();
  log_.write_state(state, tensor.copy());
}

void Executor::read_state_async(const std::string& name, const Receive<Tensor>& done) {
  size_t state = 0;
  try {
    state = index_of_state(name);
    if (!callers_.try_begin_turn()) throw under_way("read_state_async");
  } catch (const Error& error) {
    return callers_.tell([&] { done(error); });
  }
  state_reader_.read(state, [self = shared_from_this(), done](Result<Tensor> result) {
    self->callers_.end_turn([&] { done(std::move(result)); });
  });
}

Tensor Executor::read_state(const std::string& name) {
  const size_t state = index_of_state(name);
  const Callers::Turn turn(callers_);
  const auto answer = std::make_shared<Answer<Tensor>>();
  state_reader_.read(state, [answer](Result<Tensor> tensor) { answer->give(std::move(tensor)); });
  callers_.wait([&] { return answer->is_there(); });
  return answer->take();
}

void Executor::take_snapshot_async(const RunDone& done) {
  if (!callers_.try_begin_turn()) {
    const Error error = under_way("take_snapshot_async");
    return callers_.tell([&] { done(&error); });
  }
  state_reader_.take_snapshot(
      [self = shared_from_this(), ended = ending_turn(done)](const Error* error) { ended(error); });
}

void Executor::take_snapshot() {
  const Callers::Turn turn(callers_);
  const auto answer = std::make_shared<Answer<bool>>();
  state_reader_.take_snapshot([answer](const Error* error) { answer->give(result_of(error)); });
  callers_.wait([&] { return answer->is_there(); });
  answer->take();
}

void Executor::restore_snapshot() {
  const Callers::Turn turn(callers_);
  const auto lock = callbacks_.lock();
  log_.restore_snapshot();
}

}  // namespace rlx::detail::webgpu
