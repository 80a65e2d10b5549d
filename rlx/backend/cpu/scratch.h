// Memory of a kernel for as many bodies as a team runs at once. Sized before the team runs: a run
// that has been bound allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rlx::detail {

class Scratch {
 public:
  explicit Scratch(int threads)
      : slots_(static_cast<size_t>(threads)), taken_(new std::atomic_flag[slots_]) {
    for (size_t i = 0; i < slots_; ++i) taken_[i].clear();
  }
  // So many floats for each.
  void resize(int64_t floats) {
    each_ = (static_cast<size_t>(floats) + kLine - 1) / kLine * kLine;
    if (data_.size() < slots_ * each_ + kLine) data_.resize(slots_ * each_ + kLine);
  }

  // A part of it, until it goes.
  class Part {
   public:
    explicit Part(Scratch& scratch) : scratch_(scratch) {
      while (scratch_.taken_[slot_].test_and_set(std::memory_order_acquire))
        slot_ = (slot_ + 1) % scratch_.slots_;
    }
    ~Part() { scratch_.taken_[slot_].clear(std::memory_order_release); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    float* data() const {
      const size_t at = reinterpret_cast<uintptr_t>(scratch_.data_.data()) / sizeof(float);
      return scratch_.data_.data() + (kLine - at % kLine) % kLine + slot_ * scratch_.each_;
    }

   private:
    Scratch& scratch_;
    size_t slot_ = 0;
  };

 private:
  static constexpr size_t kLine = 16;  // floats of a line of the cache
  size_t slots_, each_ = 0;
  std::unique_ptr<std::atomic_flag[]> taken_;
  std::vector<float> data_;
};

}  // namespace rlx::detail
