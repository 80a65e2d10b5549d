// What comes back of a run: outputs that are read, that stay on the device or are on the host
// already, and the error flag with the first that comes. Under the program's lock.
#pragma once

#include <memory>
#include <vector>

#include "rlx/backend/webgpu/connection.h"
#include "rlx/backend/webgpu/run.h"
#include "rlx/backend/webgpu/run_log.h"

namespace rlx::detail::webgpu {

class RunOutputs {
 public:
  RunOutputs(const image::Image& image, Connection& connection, RunLog& log, Recorder& recorder,
             const Run& run, const OwnTickets& tickets, Counters& counters);

  // The steps of the run are recorded: records what its outputs take, and submits all of it. Gives
  // what has to be read and given to take(); null: nothing is. `of_inputs` are outcomes on which
  // those of its outputs depend that stay on the device.
  const Recorder::Readback* submit(RunRequest& request, const image::Cells& cells,
                                   const OutcomeList& of_inputs);
  // An Error where the flag was raised.
  void take(std::span<const std::byte> bytes);
  void take_from_host();
  bool is_any_read() const;  // by the user, from wherever it is

 private:
  void submit_alone(const std::shared_ptr<Outcome>& outcome);
  void keep(size_t index, const std::shared_ptr<Outcome>& outcome);
  Shape shape_of(const image::Output& output) const;
  Tensor& tensor_of(size_t index);

  const image::Image& image_;
  Connection& connection_;
  RunLog& log_;
  Recorder& recorder_;
  const Run& run_;
  const OwnTickets& tickets_;
  Counters& counters_;
  // Of the run at hand.
  RunRequest* request_ = nullptr;
  const image::Cells* cells_ = nullptr;
  const OutcomeList* of_inputs_ = nullptr;
  const Recorder::Readback* readback_ = nullptr;
  std::vector<size_t> read_;                 // outputs
  std::vector<image::ValueId> read_values_;  // of those
};

}  // namespace rlx::detail::webgpu
