// The queue of the device as a job uses it: what is recorded is submitted, timed where a report
// wants that; what is read or waited for comes back to the job. Under the program's lock.
#pragma once

#include "rlx/backend/webgpu/connection.h"
#include "rlx/backend/webgpu/recorder.h"
#include "rlx/backend/webgpu/states.h"

namespace rlx::detail::webgpu {

class JobQueue final : public Queue {
 public:
  // Whose job it is. Both are called under the lock.
  class Client {
   public:
    virtual void take(Result<std::span<const std::byte>> bytes) = 0;  // they are gone afterwards
    virtual void go_on() = 0;  // what read() or drain() has started is over

   protected:
    ~Client() = default;
  };
  JobQueue(Client& client, Connection& connection, Callbacks& callbacks, States& states,
           Counters& counters);

  // Whose last dispatches are those that are submitted from now on; null: nobody's.
  void report_to(RunReport* report) { report_ = report; }
  void submit(std::span<const Command> commands, size_t dispatches) override;
  void read(const Recorder::Readback& readback);
  void drain();  // until all that was submitted is finished

 private:
  void take_times(size_t first, Result<SubmitTimes> times);

  Client& client_;
  Connection& connection_;
  Callbacks& callbacks_;
  States& states_;
  Counters& counters_;
  RunReport* report_ = nullptr;
};

}  // namespace rlx::detail::webgpu
