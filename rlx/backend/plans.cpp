#include "rlx/backend/plans.h"

#include <algorithm>

#include "rlx/backend/budget.h"
#include "rlx/base/error.h"

namespace rlx::detail {

using image::Cells;
using image::Image;
using image::Kind;
using image::Number;

std::shared_ptr<const MemoryPlan> Plans::plan(const Image& image, const Cells& cells,
                                              Counters& counters) {
  constexpr int64_t kUnknown = -1;
  key_.clear();
  for (const Number number : image.planned_by)
    key_.push_back(cells.known(number) ? cells.at(number) : kUnknown);
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const Entry& entry) { return entry.key == key_; });
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front().plan;
  }
  auto made = std::make_shared<const MemoryPlan>(plan_memory(image, cells));
  ++counters.plans;
  plans_.push_front({key_, made});
  if (plans_.size() > most_) {
    plans_.pop_back();
    ++dropped_;
  }
  return made;
}

namespace {

struct Held {
  int64_t weights = 0, states = 0, inputs = 0;
};

Held held_bytes(const Image& image, const MemoryPlan& plan) {
  Held held;
  for (size_t v = 0; v < plan.bytes_of.size(); ++v) {
    const image::Value& value = image.values[v];
    const int64_t bytes = std::max<int64_t>(plan.bytes_of[v], 0);
    if (value.on_host || value.once_only) continue;
    switch (value.kind) {
      case Kind::weight:
      case Kind::constant:
      case Kind::once:
        held.weights = sum_of(held.weights, bytes);
        break;
      case Kind::state:
        held.states = sum_of(held.states, bytes);
        break;
      case Kind::input:
        held.inputs = sum_of(held.inputs, bytes);
        break;
      default:
        break;
    }
  }
  return held;
}

}  // namespace

int64_t check_budget(const Image& image, const MemoryPlan& plan, int64_t budget,
                     const HeldByCalls& held_by_calls) {
  if (budget == 0) return INT64_MAX;
  const Held held = held_bytes(image, plan);
  const auto& [packed, widened] = held_by_calls;
  int64_t total = 0;
  for (const int64_t bytes :
       {held.weights, packed, widened, held.states, held.inputs, plan.peak_bytes})
    total = sum_of(total, bytes);
  if (total <= budget) return budget - total;
  std::string by_calls;
  if (packed > 0) by_calls += text(packed, " of packed weights, ");
  if (widened > 0) by_calls += text(widened, " of narrower floats as f32, ");
  fail(ErrorKind::limit, "run: needs ", total, " bytes (", held.weights, " of weights, ", by_calls,
       held.states, " of state, ", held.inputs, " of inputs, ", plan.peak_bytes,
       " of other values); the budget is ", budget);
}

void report_plan(const Image& image, const MemoryPlan& plan, RunReport& report) {
  const Held held = held_bytes(image, plan);
  report.slots = static_cast<int64_t>(plan.slot_bytes.size());
  report.peak_bytes = plan.peak_bytes;
  report.weight_bytes = held.weights;
  report.state_bytes = held.states;
}

}  // namespace rlx::detail
