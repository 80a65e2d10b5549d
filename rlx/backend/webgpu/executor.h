// Runs an image on a WebGPU device: whose turn it is, preparation, what comes back, loss. Its core
// never blocks: what takes time goes on in callbacks, and run() and wait() wait on top of them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "rlx/backend/bring.h"
#include "rlx/backend/webgpu/run.h"
#include "rlx/backend/webgpu/turns.h"
#include "rlx/backend/webgpu/user_calls.h"
#include "rlx/backend/webgpu/webgpu_device.h"
#include "rlx/base/clock.h"

namespace rlx::detail::webgpu {

class Executor final : public std::enable_shared_from_this<Executor>, private Queue {
 public:
  Executor(const std::shared_ptr<WebGpuDevice>& device, PrepareOptions options);

  void prepare_async(RunDone done);
  void run_async(RunRequest& request, RunDone done);
  void run(RunRequest& request);
  void wait();
  void set_weight(const std::string& name, const Tensor& tensor);
  void read_state_async(const std::string& name, Receive<Tensor> done);
  Tensor read_state(const std::string& name);
  void write_state(const std::string& name, const Tensor& tensor);
  void take_snapshot_async(RunDone done);
  void take_snapshot();
  void restore_snapshot();
  Counters counters() const;
  // Nobody holds the program any more: a run under way is told so, and the device's memory freed.
  void abandon();

 private:
  // Keeps runs away while states or weights change.
  struct Held {
    explicit Held(Executor& e) : executor(e) { executor.hold(); }
    ~Held() { executor.turns_.end(); }
    Executor& executor;
  };
  // What is under way: a run, or the preparation where there is no request.
  struct Job {
    RunRequest* request = nullptr;
    RunDone done;
    bool active = false, waiting = false, over = false;
    enum class Phase { once, once_flag, run, outputs } phase = Phase::run;
    std::optional<Error> failure, read_failure;
    Brought brought;
    std::vector<const Tensor*> inputs;  // by value; null: on the device
    const Recorder::Readback* readback = nullptr;
    std::vector<size_t> read_outputs;
    std::vector<image::ValueId> read_values;
    Clock::time_point started;
    Counters counters_before;
  };
  using Phase = Job::Phase;
  // What the program has on a logical device; all of it is made again after a loss.
  struct Connection {
    LogicalDevicePtr logical;
    PipelineList pipelines;  // by kernel
    bool compiled = false;
    std::unique_ptr<Resources> resources;
    std::optional<OnceResults<StoredOnce>> once;
  };
  // How far what is computed once is valid.
  struct Once {
    explicit Once(const image::Image& image) : parts(parts_of_once(image)), cells(image.numbers) {}
    const std::vector<OncePart> parts;
    std::vector<bool> skipped;  // by step: what other programs have computed already
    bool valid = false;
    std::vector<Tensor::Mark> marks;  // of what it was computed from
    image::Cells cells;
    MemoryPlan plan;
  };

  // Turns and callbacks: executor.cpp.
  void hold();
  void begin_job(RunRequest* request, RunDone done, bool waiting, Brought brought);
  template <class Action>
  void enter(Action action, int arrived = 0);
  template <class Start>
  auto expect_callback(const Start& start);
  template <class Start>
  void start_callback(const Start& start);
  struct Ending {
    RunDone done;
    std::optional<Error> failure;
    bool ends_turn = false;
  };
  Ending take_ending();
  void fail_job(const Error& error);
  void tell(Ending ending);
  static void tell_dropped(const RunDone& done);
  void poll();
  bool is_here(const DeviceTensor& tensor) const;

  // States: executor_state.cpp.
  void start_reading_state(size_t state, Receive<Tensor> done);
  void read_settled_state(size_t state, const Receive<Tensor>& done);
  struct Snapshot;
  void start_snapshot(RunDone done);
  void copy_next_state(const std::shared_ptr<Snapshot>& snapshot);
  void after_outcomes(const std::function<void()>& then);
  void throw_late_errors();
  void notice_loss();
  size_t index_of_state(const std::string& name) const;

  // The job under way, under the lock: executor_job.cpp, executor_results.cpp.
  void start_job();
  bool connect();
  bool connect_to(LogicalDevicePtr logical);
  void go_on();
  bool needs_once() const;
  void begin_once();
  bool find_once();
  void place_once();
  void adopt_once(const OncePart& part, const StoredOnce& stored);
  void begin_run();
  void prepare_plan();
  void check_size(image::ValueId value, const MemoryPlan& plan, const image::Cells& cells) const;
  void take_input(size_t index);
  void walk();
  void finish_once();
  void finish_run();
  void keep_output(size_t index, const std::shared_ptr<Outcome>& outcome);
  void take_outputs(std::span<const std::byte> bytes);
  void take_host_outputs();
  Tensor& output_tensor(size_t index);
  void submit(std::span<const Command> commands, size_t dispatches) override;
  void start_read(const Recorder::Readback& readback);
  void start_draining();
  void take_bytes(Result<std::span<const std::byte>> bytes);
  void take_times(size_t first, Result<SubmitTimes> times);
  void resume();
  void fill_report(RunReport& report);

  const std::weak_ptr<WebGpuDevice> device_;
  const std::shared_ptr<Tickets> tickets_;
  const PrepareOptions options_;
  const image::Image& image_;
  const DeviceTraits traits_;
  const ImageNeeds needs_;

  Turns turns_;
  UserCalls user_calls_;

  std::mutex mutex_;  // of all below, against callbacks in other threads and against abandon()
  HostValues host_;
  States states_;
  RunBinding binding_;
  Plans plans_;
  std::shared_ptr<const MemoryPlan> plan_;
  Connection connection_, dropped_;  // the second goes when the lock is gone: it may call back
  Counters counters_;
  Recorder recorder_;
  Run run_;
  Once once_;
  Outcomes outcomes_;
  uint64_t runs_begun_ = 0;
  Job job_;
  int pending_ = 0;                  // callbacks to come
  std::shared_ptr<Executor> alive_;  // while there are some
  bool abandoned_ = false;

  // Of run(), which waits for its job.
  std::atomic<bool> finished_ = false;
  std::optional<Error> run_failure_;

  mutable std::mutex counters_mutex_;
  Counters counters_told_;  // as the last run left them, for any thread
};

// A program as its user holds it: when the last handle goes, the run under way is given up.
ExecutablePtr make_executable(std::shared_ptr<WebGpuDevice> device,
                              std::shared_ptr<Executor> executor);

}  // namespace rlx::detail::webgpu
