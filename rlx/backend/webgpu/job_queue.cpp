#include "rlx/backend/webgpu/job_queue.h"

namespace rlx::detail::webgpu {

JobQueue::JobQueue(Client& client, Connection& connection, Callbacks& callbacks, States& states,
                   Counters& counters)
    : client_(client),
      connection_(connection),
      callbacks_(callbacks),
      states_(states),
      counters_(counters) {}

void JobQueue::submit(std::span<const Command> commands, size_t dispatches) {
  ++counters_.submits;
  counters_.dispatches += dispatches;
  if (!report_ || !connection_.traits().timestamps || dispatches == 0) {
    connection_.gpu()->submit(commands);
    return states_.submitted();
  }
  const size_t first = report_->dispatches.size() - dispatches;
  callbacks_.start(connection_.gpu(), [&](Tickets::Id id) {
    return connection_.gpu()->submit(
        commands, {.timestamps = true}, [this, first, id](Result<SubmitTimes> times) {
          callbacks_.tickets().close(id);
          callbacks_.arrive([&] { take_times(first, std::move(times)); });
        });
  });
  states_.submitted();
}

void JobQueue::take_times(size_t first, Result<SubmitTimes> times) {
  const SubmitTimes measured = times.take();  // the device tells an error once: the run has failed
  for (size_t i = 0; i < measured.dispatch_microseconds.size(); ++i)
    report_->dispatches[first + i].microseconds = measured.dispatch_microseconds[i];
}

// The job goes on when the staging buffer is free again.
void JobQueue::read(const Recorder::Readback& readback) {
  ++counters_.readbacks;
  counters_.readback_bytes += readback.bytes;
  callbacks_.start(connection_.gpu(), [&](Tickets::Id id) {
    return connection_.gpu()->read(
        *readback.staging, 0, readback.bytes,
        [this](Result<std::span<const std::byte>> bytes) {
          callbacks_.look_in([&] { client_.take(std::move(bytes)); });
        },
        [this, id] {
          callbacks_.tickets().close(id);
          callbacks_.arrive([this] { client_.go_on(); });
        });
  });
}

void JobQueue::drain() {
  callbacks_.start(connection_.gpu(), [&](Tickets::Id id) {
    return connection_.gpu()->finish([this, id](Result<bool> finished) {
      callbacks_.tickets().close(id);
      callbacks_.arrive([&] {
        finished.take();
        client_.go_on();
      });
    });
  });
}

}  // namespace rlx::detail::webgpu
