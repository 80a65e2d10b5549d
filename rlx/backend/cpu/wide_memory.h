// Memory in which calls hold as f32 what the graph holds as f16 or bf16, while they run. Calls of a
// program run one after the other and share it.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "rlx/tensor/tensor.h"

namespace rlx::detail {

// Sizes are powers of two, and each has a stack of free tensors: a run that asks for what an
// earlier one asked for, in the same order, gets the same tensors and allocates nothing.
class WideMemory {
 public:
  // What a tensor of so many f32 takes.
  static int64_t bytes_for(int64_t floats) { return int64_t{4} << size_of(floats); }
  // A tensor of at least so many f32.
  Tensor take(int64_t floats) {
    const size_t size = size_of(floats);
    const std::lock_guard lock(mutex_);
    std::vector<Tensor>& free = free_[size];
    if (free.empty()) {
      count((int64_t{1} << size) * 4);
      return Tensor(DType::f32, {int64_t{1} << size});
    }
    Tensor taken = std::move(free.back());
    free.pop_back();
    return taken;
  }
  void give(Tensor tensor) {
    const size_t size = size_of(tensor.count());
    const std::lock_guard lock(mutex_);
    free_[size].push_back(std::move(tensor));
  }

  // What is held, whether it is lent or not, and what kernels say that they keep themselves.
  int64_t bytes() const { return bytes_.load(); }
  void count(int64_t more_bytes) { bytes_.fetch_add(more_bytes); }

 private:
  static constexpr size_t kLeast = 10, kSizes = 48;  // in bits
  static size_t size_of(int64_t floats) {
    size_t size = kLeast;
    while (size < kSizes && (int64_t{1} << size) < floats) ++size;
    return size;
  }
  std::mutex mutex_;
  std::atomic<int64_t> bytes_{0};
  std::array<std::vector<Tensor>, kSizes + 1> free_;
};

}  // namespace rlx::detail
