// What a run is bound to: the cells its inputs give, and the memory plan that follows from them,
// with room for it on the device. Under the program's lock.
#pragma once

#include <cstdint>
#include <memory>

#include "rlx/backend/binding.h"
#include "rlx/backend/plans.h"
#include "rlx/backend/webgpu/connection.h"

namespace rlx::detail::webgpu {

class RunPlan {
 public:
  RunPlan(const PrepareOptions& options, Connection& connection, Counters& counters);

  // Binds the request's inputs, and has the connection's resources use the plan for them.
  void update(const RunRequest& request);
  void take_once(const image::Cells& cells) { binding_.take_once(cells); }
  image::Cells& cells() { return binding_.cells(); }
  int64_t bytes_left() const { return bytes_left_; }  // of the budget, beside the plan
  void fill_report(RunReport& report) const;

 private:
  void make_room();
  bool is_placed() const { return plan_ && placed_on_ == connection_.number(); }

  const image::Image& image_;
  const int64_t budget_;
  Connection& connection_;
  Counters& counters_;
  RunBinding binding_;
  Plans plans_;
  std::shared_ptr<const MemoryPlan> plan_;
  int64_t bytes_left_ = INT64_MAX;
  uint64_t placed_on_ = 0;  // the connection's number
};

}  // namespace rlx::detail::webgpu
