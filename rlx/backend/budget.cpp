#include "rlx/backend/budget.h"

#include "rlx/base/error.h"

namespace rlx::detail {

int64_t LateBudget::total() const {
  int64_t total = 0;
  for (const auto* all : {&held_, &by_calls_})
    for (const auto& [each, bytes] : *all) total = sum_of(total, bytes);
  return total;
}

void LateBudget::spend(image::ValueId value, int64_t bytes, const image::Image& image) {
  if (!is_limited()) return;
  held_[value] = bytes;
  if (total() > left_)
    fail(ErrorKind::limit, "run: '", image.values[size_t(value)].name, "' has ", bytes,
         " bytes, which only the run could tell, and such values have ", total(),
         " together; the budget leaves ", left_);
}

void LateBudget::spend_of_call(image::ValueId result, int64_t bytes, const image::Image& image) {
  by_calls_[result] = bytes;
  if (total() > left_)
    fail(ErrorKind::limit, "run: what computes '", image.values[size_t(result)].name, "' holds ",
         bytes,
         " bytes of packed weights and narrower floats as f32, which only the run could "
         "tell, and that and such values have ",
         total(), " together; the budget leaves ", left_);
}

void IterationBudget::spend(const image::Step& jump, const image::Image& image) {
  if (budget_ == 0 || ++made_ <= budget_) return;
  Error error(ErrorKind::limit,
              text("run: its loops went round more than ", budget_, " times, which is the budget"));
  if (jump.node >= 0) error.add_note(text("at node '", image.nodes[size_t(jump.node)].name, "'"));
  throw error;
}

}  // namespace rlx::detail
