// How threads get into an executor's job. Private to executor*.cpp.
#pragma once

#include "rlx/backend/webgpu/executor.h"

namespace rlx::detail::webgpu {

// Runs a part of the job under the lock, from the outside or from a callback (`arrived`: how many
// of those expected this is), and tells the user, without the lock, when that ends the job.
template <class Action>
void Executor::enter(Action action, int arrived) {
  const auto self = shared_from_this();  // the user may drop the program in the end
  std::shared_ptr<Executor> released;
  Connection dropped;
  Ending ending;
  {
    const std::lock_guard lock(mutex_);
    pending_ -= arrived;
    if (!abandoned_) {
      try {
        action();
      } catch (...) {
        fail_job(current_error());
      }
      ending = take_ending();
    }
    dropped = std::exchange(dropped_, {});
    if (pending_ == 0) released = std::move(alive_);
  }
  if (ending.done) tell(std::move(ending));
}

// Starts what will call back once; where it throws, it does not.
template <class Start>
auto Executor::expect_callback(const Start& start) {
  ++pending_;
  alive_ = shared_from_this();
  try {
    return start();
  } catch (...) {
    --pending_;
    throw;
  }
}

}  // namespace rlx::detail::webgpu
