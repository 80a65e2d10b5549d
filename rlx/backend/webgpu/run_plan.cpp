#include "rlx/backend/webgpu/run_plan.h"

namespace rlx::detail::webgpu {

RunPlan::RunPlan(const PrepareOptions& options, Connection& connection, Counters& counters)
    : image_(*options.image),
      budget_(options.memory_budget),
      connection_(connection),
      counters_(counters),
      binding_(image_, *options.implementations) {}

void RunPlan::update(const RunRequest& request) {
  const bool rebound = binding_.update(request);
  if (rebound || !is_placed())
    make_room();
  else
    connection_.resources().use(*plan_);
}

void RunPlan::make_room() {
  plan_ = nullptr;  // until there is room for it: the next run then tries again
  std::shared_ptr<const MemoryPlan> plan = plans_.plan(image_, binding_.cells(), counters_);
  for (size_t v = 0; v < image_.values.size(); ++v)
    check_buffer_size(image_, static_cast<image::ValueId>(v), *plan, binding_.cells(),
                      connection_.traits());
  bytes_left_ = check_budget(image_, *plan, budget_);
  connection_.resources().fit(*plan);
  plan_ = std::move(plan);
  placed_on_ = connection_.number();
}

void RunPlan::fill_report(RunReport& report) const {
  if (is_placed()) report_plan(image_, *plan_, report);
  report.caches = {plans_.report()};
}

}  // namespace rlx::detail::webgpu
