// The inputs of the run under way, wherever they are: on the host, brought there from another
// device, or on this device. Under the program's lock.
#pragma once

#include <vector>

#include "rlx/backend/bring.h"
#include "rlx/backend/webgpu/connection.h"

namespace rlx::detail::webgpu {

class RunInputs {
 public:
  RunInputs(const image::Image& image, const ImageNeeds& needs, Connection& connection)
      : image_(image), needs_(needs), connection_(connection) {}

  // Uploads what has changed and the device needs; borrows what is there. The request and what was
  // brought must outlive the run.
  void take(const RunRequest& request, const Brought& brought, const image::Cells& cells);
  // By value; null: on the device.
  const std::vector<const Tensor*>& on_host() const { return on_host_; }
  // Of the runs that made those on the device; those not known when they were taken.
  const OutcomeList& outcomes() const { return outcomes_; }

 private:
  void borrow(size_t index, const DeviceTensor& tensor);

  const image::Image& image_;
  const ImageNeeds& needs_;
  Connection& connection_;
  std::vector<const Tensor*> on_host_;
  OutcomeList outcomes_;
};

}  // namespace rlx::detail::webgpu
