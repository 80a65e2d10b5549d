// The job under way: a run, or the preparation of the program. In order: the device, what is
// computed once, the steps of the run, what comes back of it. It stops wherever something has to
// come back first and goes on in a callback. Under the program's lock, but for counters().
#pragma once

#include <mutex>
#include <optional>

#include "rlx/backend/webgpu/job_queue.h"
#include "rlx/backend/webgpu/once_values.h"
#include "rlx/backend/webgpu/run.h"
#include "rlx/backend/webgpu/run_inputs.h"
#include "rlx/backend/webgpu/run_log.h"
#include "rlx/backend/webgpu/run_outputs.h"
#include "rlx/backend/webgpu/run_plan.h"
#include "rlx/base/clock.h"

namespace rlx::detail::webgpu {

class Job final : private JobQueue::Client {
 public:
  Job(const PrepareOptions& options, const ImageNeeds& needs, HostValues& host,
      Connection& connection, RunLog& log, Callbacks& callbacks, Counters& counters);

  // Without a request: prepares. `done` is called when the job is over, without the lock. What this
  // throws is for fail(), as what any later part of the job throws.
  void begin(RunRequest* request, RunDone done, Brought brought);
  void fail(const Error& error);
  // No callback is to come any more, which might still write into the report: a job that is over
  // ends now.
  void settle();
  void abandon();  // tells whoever waits for it that the program is gone

  Counters counters() const;  // as the last job left them, for any thread

 private:
  enum class Phase { once, once_flag, run, outputs };

  void begin_request();
  void prepare();
  void begin_once();
  void begin_run();
  void upload_states();
  void walk();
  void finish_once();
  void finish_run();
  void check_inputs();
  void take(Result<std::span<const std::byte>> bytes) override;
  void go_on() override;
  void fill_report(RunReport& report);

  const image::Image& image_;
  const ImageNeeds& needs_;
  HostValues& host_;
  Connection& connection_;
  RunLog& log_;
  Callbacks& callbacks_;
  Counters& counters_;

  JobQueue queue_;
  Recorder recorder_;
  Run steps_;
  OnceValues once_;
  RunPlan plan_;
  RunInputs inputs_;
  RunOutputs outputs_;

  // The one under way, or the last.
  struct Current {
    RunRequest* request = nullptr;
    RunDone done;
    Brought brought;
    bool active = false, over = false;  // over: it ends when no callback is to come any more
    Phase phase = Phase::run;
    std::optional<Error> failure, read_failure;  // of a read whose buffer is not free yet
    Clock::time_point started;
    Counters counters_before;
  };
  Current now_;

  mutable std::mutex told_mutex_;
  Counters told_;
};

// Of a job that the program did not live to begin or to end.
Error dropped_error();

}  // namespace rlx::detail::webgpu
