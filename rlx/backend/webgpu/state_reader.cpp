#include "rlx/backend/webgpu/state_reader.h"

#include <optional>
#include <vector>

namespace rlx::detail::webgpu {

struct StateReader::Snapshot {
  std::vector<Tensor> copies;
  RunDone done;
};

void StateReader::read(size_t state, const Receive<Tensor>& done) {
  after_outcomes([this, self = callbacks_.hold(), state, done] { read_settled(state, done); });
}

void StateReader::take_snapshot(const RunDone& done) {
  const auto snapshot = std::make_shared<Snapshot>();
  snapshot->done = done;
  after_outcomes([this, self = callbacks_.hold(), snapshot] { copy_next(snapshot); });
}

void StateReader::after_outcomes(const std::function<void()>& then) {
  {
    const auto lock = callbacks_.lock();
    if (log_.when_next_known([this, self = callbacks_.hold(), then] { after_outcomes(then); }))
      return;
  }
  then();
}

void StateReader::read_settled(size_t state, const Receive<Tensor>& done) {
  const image::State& described = image_.states[state];
  const Shape shape = concrete(described.type.shape);
  std::optional<Result<Tensor>> at_once;
  std::shared_ptr<Gpu> gpu;
  BufferPtr buffer;
  try {
    const auto lock = callbacks_.lock();
    log_.throw_late_errors();
    connection_.notice_loss();
    const States& states = log_.states();
    states.require_valid(state);
    if (states.holds(state) == States::Holds::host) {
      at_once = states.host_copy(state).copy();
    } else if (states.holds(state) == States::Holds::zeros || !connection_.has_resources()) {
      at_once = Tensor(described.type.dtype, shape);
    } else {
      gpu = connection_.gpu();
      buffer = connection_.resources().own(described.value);
    }
  } catch (...) {
    at_once = Result<Tensor>(current_error());
  }
  if (at_once) return done(std::move(*at_once));
  const OwnTickets& tickets = callbacks_.tickets();
  read_buffer(gpu, tickets.all(), tickets.owner(), buffer, described.type.dtype, shape,
              [done, name = described.name](Result<Tensor> result) {
                if (result.ok()) return done(std::move(result));
                Error error = result.error();
                error.add_note("while reading state '" + name + "'");
                done(error);
              });
}

// All of them or none: they belong together.
void StateReader::copy_next(const std::shared_ptr<Snapshot>& snapshot) {
  const size_t next = snapshot->copies.size();
  if (next < image_.states.size())
    return read_settled(next, [this, self = callbacks_.hold(), snapshot](Result<Tensor> read) {
      if (!read.ok()) return snapshot->done(&read.error());
      snapshot->copies.push_back(read.take());
      copy_next(snapshot);
    });
  {
    const auto lock = callbacks_.lock();
    for (size_t i = 0; i < next; ++i)
      log_.states().keep_snapshot(i, std::move(snapshot->copies[i]));
  }
  snapshot->done(nullptr);
}

}  // namespace rlx::detail::webgpu
