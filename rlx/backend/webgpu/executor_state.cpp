// Weights and states of a program: what its user may read and write between runs.
#include <algorithm>

#include "rlx/backend/webgpu/executor.h"

namespace rlx::detail::webgpu {

namespace {

// An answer that the caller waits for; it may come in another thread.
template <class T>
struct Answer {
  std::mutex mutex;
  std::optional<Result<T>> result;

  void give(Result<T> given) {
    const std::lock_guard lock(mutex);
    result.emplace(std::move(given));
  }
  bool is_there() {
    const std::lock_guard lock(mutex);
    return result.has_value();
  }
};

}  // namespace

void Executor::set_weight(const std::string& name, const Tensor& tensor) {
  const image::Weight& weight = weight_of(image_, name);
  check_type("weight", name, weight.type, tensor);
  const Held held(*this);
  const std::lock_guard lock(mutex_);
  if (weight.value >= 0) host_.sources[size_t(weight.value)] = tensor;
}

size_t Executor::index_of_state(const std::string& name) const {
  return static_cast<size_t>(&state_of(image_, name) - image_.states.data());
}

void Executor::write_state(const std::string& name, const Tensor& tensor) {
  const size_t state = index_of_state(name);
  check_type("state", name, image_.states[state].type, tensor);
  const Held held(*this);
  const std::lock_guard lock(mutex_);
  states_.write(state, tensor.copy(), runs_begun_);
}

void Executor::read_state_async(const std::string& name, Receive<Tensor> done) {
  const auto refuse = [&](const Error& error) { user_calls_.call([&] { done(error); }); };
  size_t state = 0;
  try {
    state = index_of_state(name);
  } catch (const Error& error) {
    return refuse(error);
  }
  if (!turns_.try_begin())
    return refuse({ErrorKind::unsupported, "read_state_async: a run of this program is under way"});
  start_reading_state(state, [self = shared_from_this(), done](Result<Tensor> result) {
    self->turns_.end();
    self->user_calls_.call([&] { done(std::move(result)); });
  });
}

Tensor Executor::read_state(const std::string& name) {
  const size_t state = index_of_state(name);
  const Held held(*this);
  const auto answer = std::make_shared<Answer<Tensor>>();
  start_reading_state(state, [answer](Result<Tensor> tensor) { answer->give(std::move(tensor)); });
  tickets_->wait(this, [&] { return answer->is_there(); });
  return answer->result->take();
}

void Executor::start_reading_state(size_t state, Receive<Tensor> done) {
  after_outcomes([self = shared_from_this(), state, done = std::move(done)] {
    self->read_settled_state(state, done);
  });
}

// What earlier runs have left in states is known when their flags are.
void Executor::after_outcomes(const std::function<void()>& then) {
  {
    const std::lock_guard lock(mutex_);
    if (outcomes_.when_next_known(
            [self = shared_from_this(), then] { self->after_outcomes(then); }))
      return;
  }
  then();
}

void Executor::read_settled_state(size_t state, const Receive<Tensor>& done) {
  const image::State& described = image_.states[state];
  const Shape shape = concrete(described.type.shape);
  std::optional<Result<Tensor>> at_once;
  std::shared_ptr<Gpu> gpu;
  BufferPtr buffer;
  try {
    const std::lock_guard lock(mutex_);
    throw_late_errors();
    notice_loss();
    states_.require_valid(state);
    if (states_.holds(state) == States::Holds::host) {
      at_once = states_.host_copy(state).copy();
    } else if (states_.holds(state) == States::Holds::zeros || !connection_.resources) {
      at_once = Tensor(described.type.dtype, shape);
    } else {
      gpu = connection_.resources->gpu_ptr();
      buffer = connection_.resources->own(described.value);
    }
  } catch (...) {
    at_once = Result<Tensor>(current_error());
  }
  if (at_once) return done(std::move(*at_once));
  read_buffer(gpu, tickets_, this, buffer, described.type.dtype, shape,
              [done, name = described.name](Result<Tensor> result) {
                if (result.ok()) return done(std::move(result));
                Error error = result.error();
                error.add_note("while reading state '" + name + "'");
                done(error);
              });
}

// ---- Snapshots ---------------------------------------------------------------------------------

struct Executor::Snapshot {
  std::vector<Tensor> copies;
  RunDone done;
};

void Executor::take_snapshot_async(RunDone done) {
  if (!turns_.try_begin()) {
    const Error error(ErrorKind::unsupported,
                      "take_snapshot_async: a run of this program is under way");
    return user_calls_.call([&] { done(&error); });
  }
  start_snapshot([self = shared_from_this(), done = std::move(done)](const Error* error) {
    self->turns_.end();
    self->user_calls_.call([&] { done(error); });
  });
}

void Executor::take_snapshot() {
  const Held held(*this);
  const auto answer = std::make_shared<Answer<bool>>();
  start_snapshot([answer](const Error* error) {
    answer->give(error ? Result<bool>(*error) : Result<bool>(true));
  });
  tickets_->wait(this, [&] { return answer->is_there(); });
  answer->result->take();
}

void Executor::start_snapshot(RunDone done) {
  const auto snapshot = std::make_shared<Snapshot>();
  snapshot->done = std::move(done);
  after_outcomes([self = shared_from_this(), snapshot] { self->copy_next_state(snapshot); });
}

// All of them or none: they belong together.
void Executor::copy_next_state(const std::shared_ptr<Snapshot>& snapshot) {
  const size_t next = snapshot->copies.size();
  if (next < image_.states.size())
    return read_settled_state(next, [self = shared_from_this(), snapshot](Result<Tensor> read) {
      if (!read.ok()) return snapshot->done(&read.error());
      snapshot->copies.push_back(read.take());
      self->copy_next_state(snapshot);
    });
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < next; ++i) states_.keep_snapshot(i, std::move(snapshot->copies[i]));
  }
  snapshot->done(nullptr);
}

void Executor::restore_snapshot() {
  const Held held(*this);
  const std::lock_guard lock(mutex_);
  states_.restore_snapshot(runs_begun_);
}

void Executor::throw_late_errors() {
  for (const LateErrors::Failure& failure : outcomes_.errors().failed())
    states_.fail_run(failure.run, failure.error);
  if (const auto error = outcomes_.errors().take()) throw *error;
}

void Executor::notice_loss() {
  if (!connection_.logical) return;
  if (const auto reason = connection_.logical->gpu->lost()) states_.lose_device(*reason);
}

}  // namespace rlx::detail::webgpu
