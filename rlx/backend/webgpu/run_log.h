// How the runs of a program come out, and what that leaves in its states: a run may turn out to
// have failed long after it ended. Under the program's lock, but for pending() and take_error().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rlx/backend/webgpu/error_flag.h"
#include "rlx/backend/webgpu/states.h"

namespace rlx::detail::webgpu {

class RunLog {
 public:
  explicit RunLog(const std::shared_ptr<const image::Image>& image)
      : states_(*image), outcomes_(image) {}

  States& states() { return states_; }

  void begin_run();
  // What earlier runs have left to be told, and what that means for states.
  void throw_late_errors();
  void end_run(const std::optional<Error>& failure) { states_.end_run(failure); }
  // For a run whose flag is read by nobody when it ends; `made` counts those that are new.
  std::shared_ptr<Outcome> outcome(uint64_t& made) { return outcomes_.get(made); }
  // Its flag is copied: reads it back, whenever it comes.
  void expect(Outcome& outcome, const std::shared_ptr<Gpu>& gpu, const OwnTickets& tickets);

  // Between runs.
  void write_state(size_t state, Tensor copy) { states_.write(state, std::move(copy), runs_); }
  void restore_snapshot() { states_.restore_snapshot(runs_); }
  void lose_device(const std::string& reason);
  // Calls back when one more outcome is known; false, and no call, where all are.
  bool when_next_known(const std::function<void()>& call) {
    return outcomes_.when_next_known(call);
  }
  // Gives the outcomes, whose buffers must go when the lock is gone.
  [[nodiscard]] std::vector<std::shared_ptr<Outcome>> release() { return outcomes_.release(); }

  int pending() const { return outcomes_.pending(); }  // outcomes that are still to come
  std::optional<Error> take_error() { return outcomes_.errors().take(); }  // which nobody was told

 private:
  States states_;
  Outcomes outcomes_;
  uint64_t runs_ = 0;  // that have begun
};

}  // namespace rlx::detail::webgpu
