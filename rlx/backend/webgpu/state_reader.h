// Reads the states of a program between its runs, one of them or all for a snapshot. What earlier
// runs have left in them is known when their flags are, so that reading waits for those.
#pragma once

#include <functional>
#include <memory>

#include "rlx/backend/webgpu/connection.h"
#include "rlx/backend/webgpu/run_log.h"

namespace rlx::detail::webgpu {

class StateReader {
 public:
  StateReader(const image::Image& image, RunLog& log, Connection& connection, Callbacks& callbacks)
      : image_(image), log_(log), connection_(connection), callbacks_(callbacks) {}

  // Both take the lock themselves and call `done` without it, at once or from a callback. It must
  // be the caller's turn until then.
  void read(size_t state, const Receive<Tensor>& done);
  void take_snapshot(const RunDone& done);

 private:
  struct Snapshot;
  void after_outcomes(const std::function<void()>& then);
  void read_settled(size_t state, const Receive<Tensor>& done);
  void copy_next(const std::shared_ptr<Snapshot>& snapshot);

  const image::Image& image_;
  RunLog& log_;
  Connection& connection_;
  Callbacks& callbacks_;
};

}  // namespace rlx::detail::webgpu
