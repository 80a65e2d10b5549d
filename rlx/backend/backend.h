// What a device must do: prepare an image, hold its weights and state, run it. Nothing here waits
// but what says so: a browser uses the asynchronous forms alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rlx/base/report.h"
#include "rlx/image/call.h"
#include "rlx/image/image.h"
#include "rlx/tensor/device_memory.h"
#include "rlx/tensor/device_tensor.h"

namespace rlx::detail {

// One run. Kept and used again, it allocates nothing the second time.
struct RunRequest {
  std::vector<Tensor> inputs;               // in the image's order
  std::vector<DeviceTensor> device_inputs;  // where present, instead of the tensor
  enum class Want { nothing, tensor, device };
  std::vector<Want> wanted;  // by output
  std::vector<Tensor> outputs;
  std::vector<DeviceTensor> device_outputs;
  RunReport* report = nullptr;   // filled when given; dispatches are then timed
  int64_t iteration_budget = 0;  // of all loops together; 0: as many as they make
};

using RunDone = std::function<void(const Error* error)>;

class Executable {
 public:
  virtual ~Executable() = default;
  // Calls `done` when the outputs are there; the request must live until then. Natively callbacks
  // arrive while somebody waits; a browser needs no wait().
  virtual void run_async(RunRequest& request, RunDone done) = 0;
  virtual void wait() = 0;                    // until no run is under way
  virtual void run(RunRequest& request) = 0;  // waits; throws the error
  // For this program alone; what was computed once from it is computed again.
  virtual void set_weight(const std::string& name, const Tensor& tensor) = 0;
  virtual void read_state_async(const std::string& name, Receive<Tensor> done) = 0;
  virtual Tensor read_state(const std::string& name) = 0;  // waits
  virtual void write_state(const std::string& name, const Tensor& tensor) = 0;
  // Keeps a copy of all states on the host. After a loss those that only the device had hold it
  // again; restore_snapshot() puts all of them back. Writing a state ends its copy.
  virtual void take_snapshot_async(RunDone done) = 0;
  virtual void take_snapshot() = 0;  // waits
  virtual void restore_snapshot() = 0;
  virtual Counters counters() const = 0;
};
using ExecutablePtr = std::shared_ptr<Executable>;

struct PrepareOptions {
  std::shared_ptr<const image::Image> image;
  // By the name a call has, in the order they are tried.
  std::shared_ptr<const image::Implementations> implementations;
  int64_t memory_budget = 0;  // bytes that a run may take; 0: as many as there are
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceTraits& traits() const = 0;
  // Compiles what must be compiled and computes what is computed once.
  virtual void prepare_async(PrepareOptions options, Receive<ExecutablePtr> done) = 0;
  // What the calls of a run would hold in its memory, as far as the cells tell their extents.
  virtual image::Holdings holdings(const image::Image& /*image*/,
                                   const image::Implementations& /*implementations*/,
                                   const image::Cells& /*cells*/) const {
    return {};
  }
  // Lets callbacks arrive until `done` is true. Not in a browser, which calls back by itself.
  virtual void wait_until(const std::function<bool()>& done) = 0;
  virtual void wait() = 0;  // the same, until nothing is under way
};

// Starts something and lets the device call back until it is done. Any thread that waits for the
// device may be the one that delivers the result.
template <class T, class Start>
T wait_for(Backend& backend, Start start) {
  std::mutex mutex;
  std::optional<Result<T>> result;
  start([&](Result<T> made) {
    const std::lock_guard lock(mutex);
    result = std::move(made);
  });
  backend.wait_until([&] {
    const std::lock_guard lock(mutex);
    return result.has_value();
  });
  const std::lock_guard lock(mutex);
  return result->take();
}

// The blocking form.
ExecutablePtr prepare(Backend& backend, PrepareOptions options);

}  // namespace rlx::detail
