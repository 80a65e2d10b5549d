#include "rlx/backend/budget.h"

#include "rlx/base/error.h"

namespace rlx::detail {

void LateBudget::spend(image::ValueId value, int64_t bytes, const image::Image& image) {
  if (left_ == INT64_MAX) return;
  held_[value] = bytes;
  int64_t total = 0;
  for (const auto& [each, held] : held_) total = sum_of(total, held);
  if (total > left_)
    fail(ErrorKind::limit, "run: '", image.values[size_t(value)].name, "' has ", bytes,
         " bytes, which only the run could tell, and such values have ", total,
         " together; the budget leaves ", left_);
}

void IterationBudget::spend(const image::Step& jump, const image::Image& image) {
  if (budget_ == 0 || ++made_ <= budget_) return;
  Error error(ErrorKind::limit,
              text("run: its loops went round more than ", budget_, " times, which is the budget"));
  if (jump.node >= 0) error.add_note(text("at node '", image.nodes[size_t(jump.node)].name, "'"));
  throw error;
}

}  // namespace rlx::detail
