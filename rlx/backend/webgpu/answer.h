// An answer that somebody waits for; it may come in another thread.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include "rlx/base/result.h"

namespace rlx::detail::webgpu {

template <class T>
class Answer {
 public:
  void give(Result<T> given) {
    const std::lock_guard lock(mutex_);
    result_.emplace(std::move(given));
  }
  bool is_there() const {
    const std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  // Once it is there: the value, or its Error is thrown; then there is none.
  T take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(result_, std::nullopt)->take();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Result<T>> result_;
};

}  // namespace rlx::detail::webgpu
