// Runs an image on a WebGPU device, as its user calls it. Its core never blocks: what takes time
// goes on in callbacks, and run(), wait() and the like wait on top of them.
//
// Order of locking: a turn (callers.h), then the program's lock (callbacks.h), then those of shared
// things. Users are called with neither a turn nor the lock.
#pragma once

#include <memory>
#include <string>

#include "rlx/backend/webgpu/answer.h"
#include "rlx/backend/webgpu/callers.h"
#include "rlx/backend/webgpu/job.h"
#include "rlx/backend/webgpu/state_reader.h"

namespace rlx::detail::webgpu {

class Executor final : public std::enable_shared_from_this<Executor>, private Callbacks::Owner {
 public:
  Executor(const std::shared_ptr<WebGpuDevice>& device, PrepareOptions options);

  void prepare_async(RunDone done);
  void run_async(RunRequest& request, RunDone done);
  void run(RunRequest& request);
  void wait();
  void set_weight(const std::string& name, const Tensor& tensor);
  void read_state_async(const std::string& name, const Receive<Tensor>& done);
  Tensor read_state(const std::string& name);
  void write_state(const std::string& name, const Tensor& tensor);
  void take_snapshot_async(const RunDone& done);
  void take_snapshot();
  void restore_snapshot();
  Counters counters() const { return job_.counters(); }
  // Nobody holds the program any more: a run under way is told so, and the device's memory freed.
  void abandon();

 private:
  std::shared_ptr<void> hold() override { return shared_from_this(); }
  void fail(const Error& error) override { job_.fail(error); }
  void settle() override { job_.settle(); }

  void begin_job(RunRequest* request, RunDone done, Brought brought);
  RunDone ending_turn(RunDone done);
  IsHere is_here() const;
  void poll();
  size_t index_of_state(const std::string& name) const;

  const PrepareOptions options_;
  const image::Image& image_;
  const ImageNeeds needs_;
  Callers callers_;
  Callbacks callbacks_;

  // Under the lock.
  HostValues host_;
  Counters counters_;
  RunLog log_;
  Connection connection_;
  Job job_;

  StateReader state_reader_;
  Answer<bool> run_answer_;  // to run(), which has the turn
};

// A program as its user holds it: when the last handle goes, the run under way is given up.
ExecutablePtr make_executable(std::shared_ptr<WebGpuDevice> device,
                              std::shared_ptr<Executor> executor);

}  // namespace rlx::detail::webgpu
