#include "rlx/passes/near_misses.h"

#include <algorithm>

#include "rlx/base/text.h"

namespace rlx {
void NearMisses::begin_graph() {
  done_.insert(done_.end(), sweep_.begin(), sweep_.end());
  sweep_.clear();
}
void NearMisses::begin_sweep() { sweep_.clear(); }

void NearMisses::note(NearMiss miss) {
  const auto same = std::find_if(sweep_.begin(), sweep_.end(),
                                 [&](const NearMiss& other) { return other.root == miss.root; });
  if (same == sweep_.end())
    sweep_.push_back(std::move(miss));
  else if (miss.found > same->found)
    *same = std::move(miss);
}

void NearMisses::add(NearMiss miss) { done_.push_back(std::move(miss)); }

std::vector<NearMiss> NearMisses::take() {
  begin_graph();
  return std::move(done_);
}

std::string describe(const Node& node) {
  const std::string& name = node.name.empty() ? node.origin : node.name;
  return text('\'', name, "' (", node.op->name, ')');
}

}  // namespace rlx
