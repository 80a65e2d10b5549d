// The memory plans of a program, by what its runs are bound to, and what a plan takes.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "rlx/base/report.h"
#include "rlx/plan/memory_plan.h"

namespace rlx::detail {

// The plans made so far, one for each set of values of the cells without bounds that a size depends
// on; the least recently used goes first. One that cannot be made is an Error, and is tried again.
class Plans {
 public:
  explicit Plans(size_t most = 16) : most_(most) {}
  std::shared_ptr<const MemoryPlan> plan(const image::Image& image, const image::Cells& cells,
                                         Counters& counters);
  CacheReport report() const {
    return {"plans", static_cast<int64_t>(plans_.size()), static_cast<int64_t>(most_), dropped_};
  }

 private:
  struct Entry {
    std::vector<int64_t> key;
    std::shared_ptr<const MemoryPlan> plan;
  };
  size_t most_;
  std::list<Entry> plans_;  // most recently used first
  int64_t dropped_ = 0;
  std::vector<int64_t> key_;
};

// What a run takes beside its plan: of calls, that hold things of their own.
struct HeldByCalls {
  int64_t packed = 0, widened = 0;
};
// An Error when a plan takes more than the budget, with the numbers. What is left of it, for values
// whose extents the run tells on its way.
int64_t check_budget(const image::Image& image, const MemoryPlan& plan, int64_t budget,
                     const HeldByCalls& held_by_calls = {});

// What a plan takes, for the report of a run.
void report_plan(const image::Image& image, const MemoryPlan& plan, RunReport& report);

}  // namespace rlx::detail
