#include "rlx/backend/webgpu/run_log.h"

namespace rlx::detail::webgpu {

void RunLog::begin_run() {
  ++runs_;
  states_.begin_run();
}

void RunLog::throw_late_errors() {
  for (const LateErrors::Failure& failure : outcomes_.errors().failed())
    states_.fail_run(failure.run, failure.error);
  if (const auto error = take_error()) throw *error;
}

void RunLog::expect(Outcome& outcome, const std::shared_ptr<Gpu>& gpu, const OwnTickets& tickets) {
  outcome.start(gpu, tickets.all(), tickets.owner(), runs_);
}

void RunLog::lose_device(const std::string& reason) {
  states_.lose_device(reason);
  outcomes_.release();  // their buffers are of that device
}

}  // namespace rlx::detail::webgpu
