#include "rlx/base/shared.h"

#include <atomic>

namespace rlx {

struct Keep::Block {
  std::atomic<int64_t> owners{1};
  void* object;
  void (*destroy)(void*);
};

void Keep::begin(void* object, void (*destroy)(void*)) {
  try {
    block_ = new Block{{1}, object, destroy};
  } catch (...) {
    destroy(object);
    throw;
  }
}

Keep::Keep(const Keep& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
}

void Keep::end() noexcept {
  // What other owners wrote to the object comes before it is destroyed.
  if (block_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  block_->destroy(block_->object);
  delete block_;
}

void* Keep::object() const { return block_ == nullptr ? nullptr : block_->object; }

}  // namespace rlx
