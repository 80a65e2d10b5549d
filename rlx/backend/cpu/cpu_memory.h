// What the values of a program on the CPU hold: slots of one arena, weights, states, inputs.
#pragma once

#include <memory>
#include <vector>

#include "rlx/backend/binding.h"
#include "rlx/backend/budget.h"
#include "rlx/plan/memory_plan.h"
#include "rlx/tensor/storage.h"
#include "rlx/vector/team.h"

namespace rlx::detail {

class CpuMemory {
 public:
  // `anywhere`, by value: all steps of a run that read it do so at any address, where a file may
  // have it.
  // What steps make once lies in large pages.
  CpuMemory(const image::Image& image, const std::vector<bool>& anywhere, vector::Team& team,
            LargePages& pages);

  // Slots end to end in one allocation that only grows; true where it has grown.
  bool fit(std::shared_ptr<const MemoryPlan> plan);
  const std::shared_ptr<const MemoryPlan>& plan() const { return plan_; }

  Tensor& value(image::ValueId v) { return values_[size_t(v)]; }
  void set(image::ValueId v, Tensor tensor) { values_[size_t(v)] = std::move(tensor); }
  // Where a step writes the value: its slot, its state, or memory of its own where the plan could
  // not size it. A value of unknown extents has none yet and is empty.
  Tensor target(image::ValueId v, const image::Cells& cells);
  // The result of a call is in its place: a call may have put it elsewhere.
  void keep(image::ValueId v, const Tensor& result, const image::Cells& cells);

  // What a run may take for values that no plan could size.
  void begin_run(int64_t bytes_left) { late_.begin(bytes_left); }
  bool is_limited() const { return !in_once_ && late_.is_limited(); }
  void spend_of_call(image::ValueId result, int64_t bytes) {
    late_.spend_of_call(result, bytes, image_);
  }

  // Values have memory of their own while steps run once; what only those needed is freed.
  void begin_once() { in_once_ = true; }
  void end_once();
  bool in_once() const { return in_once_; }

 private:
  // Copies weights that a file has at addresses from which their elements cannot be read.
  void align(const std::vector<bool>& anywhere, vector::Team& team);
  std::string largest() const;
  bool is_late(image::ValueId v) const {
    return !in_once_ && plan_->slot_of[size_t(v)] < 0 && plan_->bytes_of[size_t(v)] < 0;
  }

  const image::Image& image_;
  LargePages& pages_;
  std::shared_ptr<const MemoryPlan> plan_;
  std::vector<int64_t> offsets_;  // by slot
  Shared<Storage> arena_;
  std::vector<Tensor> values_;
  LateBudget late_;
  bool in_once_ = false;
};

}  // namespace rlx::detail
